//! Runs programs step by step in an order that the seed decides, ends some of them, and takes the power away.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use super::disk::{Disk, Loss, Random};
use super::format::Line;
use super::judge::{Moment, blocks, judge, readable};
use super::program::{Batch, Part, Program, SIDE, TAPE, World};

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Mode {
    /// Programs end.
    Crashes,
    /// Programs end or power is lost; everything is synced that the protocol says.
    PowerFsync,
    /// The same without syncs, but for those of a reset.
    PowerOs,
}

#[derive(Clone, Copy)]
enum Action {
    Turn(u64),
    Append(u64),
    Reset(u64),
    Read,
}

type Running = Pin<Box<dyn Future<Output = ()>>>;
type Shared = Rc<RefCell<World>>;
type Script = Rc<RefCell<VecDeque<Action>>>;

async fn read(program: &Program, world: &Shared) {
    let name = if world.borrow_mut().random.one_in(3) { SIDE } else { TAPE };
    let Some(bytes) = program.read(name).await else { return };
    let mut world = world.borrow_mut();
    if world.power_lost && !world.fsync {
        return;
    }
    let (lines, gap) = readable(&bytes);
    let whole = bytes.is_empty() || bytes.ends_with(b"\n") || world.torn_before;
    let shown = if gap || !whole { Err("a torn or glued line") } else { blocks(&lines) };
    if let Err(what) = shown {
        world.failure.get_or_insert(format!("a reader sees: {what}"));
    }
}

/// A process works off what is left of its script, and another takes it over when it ends.
fn start(id: usize, world: &Shared, script: &Script) -> Running {
    let program = Program::new(id, world.clone());
    let (world, script) = (world.clone(), script.clone());
    Box::pin(async move {
        loop {
            let Some(action) = script.borrow_mut().pop_front() else { return };
            let _refused = match action {
                Action::Turn(number) => program.turn(number).await,
                Action::Append(number) => program.append(number).await,
                Action::Reset(number) => program.reset(number).await,
                Action::Read => {
                    read(&program, &world).await;
                    Ok(())
                }
            };
        }
    })
}

/// A tape as another program, or an older power loss, may leave it.
fn leave_a_torn_end(world: &mut World) {
    world.torn_before = true;
    let token = (1000, 0);
    world.acknowledged.insert(token);
    let line = Line { id: 7, token, commit: 0, index: 1, total: 1, files: 1 }.encode();
    let text = match world.random.below(3) {
        0 => line,
        1 => format!("{line}\n{}", &line[..world.random.below(line.len())]),
        _ => format!("{line}\n\0\0\0"),
    };
    let file = world.disk.open(TAPE);
    world.disk.write(file, 0, text.as_bytes());
    world.disk.sync(file);
    world.disk.sync_dir();
}

fn lose_power(world: &mut World, mode: Mode) -> Moment {
    let files = world.disk.names().filter_map(|name| world.disk.lookup(name));
    let moment = (world.counter, files.map(|file| (file, readable(world.disk.bytes(file)).0)).collect());
    world.power_lost = true;
    world.disk.lose_power(&mut world.random, if mode == Mode::PowerOs { Loss::InOrder } else { Loss::AnyOrder });
    moment
}

fn finish(mut future: Running) {
    let mut context = Context::from_waker(Waker::noop());
    while future.as_mut().poll(&mut context).is_pending() {}
}

/// The failure, and every step if `traced`.
pub fn run(seed: u64, mode: Mode, left_out: Option<Part>, traced: bool) -> (Option<String>, Vec<String>) {
    let mut random = Random(seed);
    let crashes = random.below(4);
    let switching = [1, 2, 4, 12][random.below(4)];
    let pace = 20 + random.below(150);
    let with_reset = random.one_in(3);
    let errors = random.one_in(3);
    let world = Rc::new(RefCell::new(World {
        disk: Disk::default(),
        random,
        left_out,
        fsync: mode == Mode::PowerFsync,
        errors,
        locks: BTreeMap::new(),
        acknowledged: BTreeSet::new(),
        removed: BTreeSet::new(),
        power_lost: false,
        counter: 0,
        failure: None,
        trace: traced.then(Vec::new),
        torn_before: false,
    }));
    if world.borrow_mut().random.one_in(3) {
        leave_a_torn_end(&mut world.borrow_mut());
    }
    use Action::{Append, Read, Reset, Turn};
    let mut scripts = vec![vec![Turn(1), Turn(2)], vec![Turn(3), Turn(4)], vec![Append(5), Append(6), Append(7)]];
    scripts.push(vec![Read; 5]);
    if with_reset {
        scripts.push(vec![Reset(8)]);
    }
    let scripts: Vec<Script> = scripts.into_iter().map(|script| Rc::new(RefCell::new(script.into()))).collect();
    let mut running: Vec<_> = scripts.iter().enumerate().map(|(id, script)| Some(start(id, &world, script))).collect();
    let mut context = Context::from_waker(Waker::noop());
    let (mut crashed, mut current, mut moments) = (0, 0, Vec::new());
    for step in 0.. {
        if step == 20_000 {
            world.borrow_mut().failure.get_or_insert("the programs wait for ever".to_owned());
        }
        if step == 20_000 || running.iter().all(Option::is_none) {
            break;
        }
        let mut guard = world.borrow_mut();
        if running[current].is_none() || guard.random.one_in(switching) {
            current = guard.random.below(running.len());
        }
        if crashed < crashes && guard.random.one_in(pace) {
            crashed += 1;
            let power = mode != Mode::Crashes && guard.random.one_in(2);
            drop(guard);
            let ended = if power { 0..running.len() } else { current..current + 1 };
            for id in ended.filter(|id| running[*id].is_some()).collect::<Vec<_>>() {
                running[id] = None;
                world.borrow_mut().locks.retain(|_, owner| *owner != id);
                running[id] = Some(start(id, &world, &scripts[id]));
            }
            let world = &mut *world.borrow_mut();
            if power {
                moments.push(lose_power(world, mode));
            }
            if let Some(trace) = &mut world.trace {
                trace.push(if power { "power is lost".to_owned() } else { format!("program {current} ends") });
            }
            continue;
        }
        drop(guard);
        if running[current].as_mut().is_some_and(|program| program.as_mut().poll(&mut context).is_ready()) {
            running[current] = None;
        }
    }
    drop(running);
    world.borrow_mut().locks.clear();
    world.borrow_mut().errors = false;
    if world.borrow().failure.is_none() {
        // The next turn recovers what is left; the append brings both files' ends in order.
        finish(start(8, &world, &Rc::new(RefCell::new([Turn(9)].into()))));
        let program = Program::new(9, world.clone());
        let batch = Batch { reset: None, tape: vec![(10, 0)], side: vec![(10, 1)] };
        finish(Box::pin(async move { program.commit(0, &batch).await.unwrap() }));
        let weak = mode == Mode::PowerOs && world.borrow().power_lost;
        let judged = judge(&world.borrow(), weak, &moments);
        world.borrow_mut().failure = judged.err().map(str::to_owned);
    }
    let mut world = world.borrow_mut();
    (world.failure.take(), world.trace.take().unwrap_or_default())
}

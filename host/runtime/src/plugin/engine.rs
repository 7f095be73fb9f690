//! The engines that all plugins share, and how they bound what a guest may do.

use std::num::NonZeroUsize;
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, RegallocAlgorithm, Result,
};

/// Instances that the pool holds at once. Four times the turns that one machine runs at once, and more: a model hook
/// keeps its slot for as long as the model thinks.
const POOL: [(u32, u64); 4] = [(256, 4 << 30), (64, 4 << 30), (64, 256 << 20), (32, 64 << 20)];

/// Instances that the pool of a process holds that ends after one turn.
const SHORT_POOL: u32 = 32;

/// Fuel units between two yields to tokio: every 50 to 80 µs of a tight loop, so that a busy guest never holds a worker
/// thread for long. Finer costs speed: where a thread is free, each yield wakes it, which takes longer than what most calls
/// of guests compute.
pub(crate) const YIELD_INTERVAL: u64 = 1_000_000;

/// Frames of a guest that are looked at when it was ended: more than recursion hides.
const FRAMES: usize = 32;

/// The engine of the first choice, and one that never runs out of slots.
pub struct Engines {
    /// The engine whose instances come from the pool.
    pub pooled: Engine,
    /// Where calls go when the pool is full. A call inside a call must never wait for a slot: the one that it sits in
    /// is not free before it returns.
    on_demand: std::sync::OnceLock<Engine>,
    settings: Settings,
    /// Instances that the pool holds; none where there is no pool.
    slots: u32,
    /// The largest memory that fits a slot of the pool, in bytes.
    largest: usize,
}

/// The part of the engine's configuration that decides whether compiled code fits it.
#[derive(Clone, Copy)]
struct Settings {
    reservation: u64,
}

impl Engines {
    /// The largest pool that this machine's address space has room for, or none. `is_short`: for the few calls of one turn.
    pub fn new(is_short: bool) -> Result<Self> {
        for (at, (slots, reservation)) in POOL.into_iter().enumerate() {
            // Each slot costs a few system calls, and what compiled code fits is the reservation.
            let slots = if is_short { slots.min(SHORT_POOL) } else { slots };
            // Where space is short the pool must not take all of it: calls that find it full need some of their own.
            if at > 0 && !has_room(2 * slots, reservation) {
                continue;
            }
            let mut config = config(reservation)?;
            config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(slots, reservation)));
            match Engine::new(&config) {
                Ok(engine) => {
                    return Ok(Self {
                        pooled: engine,
                        on_demand: std::sync::OnceLock::new(),
                        settings: Settings { reservation },
                        slots,
                        largest: largest(reservation),
                    });
                }
                Err(error) => tracing::debug!("no pool of {slots} instances of {reservation} bytes: {error:#}"),
            }
        }
        // There is little address space: memories start small, move when they grow, and are checked at every access.
        let reservation = 0;
        let pooled = Engine::new(&config(reservation)?)?;
        Ok(Self {
            pooled,
            on_demand: std::sync::OnceLock::new(),
            settings: Settings { reservation },
            // No slots, no bound of a slot.
            slots: 0,
            largest: usize::MAX,
        })
    }

    /// Instances that the pool holds; none where there is no pool.
    pub(crate) fn slots(&self) -> u32 {
        self.slots
    }

    /// In a sentence, for people.
    pub fn describe(&self) -> String {
        match self.slots {
            0 => "instances on demand: this machine's address space is too small for a pool".to_owned(),
            slots => format!("a pool of {slots} instances"),
        }
    }

    /// Address space that a memory reserves, in bytes: compiled code that was made for another does not fit.
    pub fn reservation(&self) -> u64 {
        self.settings.reservation
    }

    /// Whether a guest that may have so much memory fits a slot.
    pub fn fits_pool(&self, memory_bytes: usize) -> bool {
        memory_bytes <= self.largest
    }

    /// The engine whose instances are allocated on demand.
    pub fn on_demand(&self) -> Result<&Engine> {
        if let Some(engine) = self.on_demand.get() {
            return Ok(engine);
        }
        // The same settings but for the allocator, so that the same compiled code fits both.
        let engine = Engine::new(&config(self.settings.reservation)?)?;
        Ok(self.on_demand.get_or_init(|| engine))
    }
}

/// An engine that compiles for engines whose memories reserve so much. No pool is made for it: that would take more address
/// space than the compiler may have.
pub(super) fn compiler(reservation: u64) -> Result<Engine> {
    Engine::new(&config(reservation)?)
}

/// Compiled code of a component, for engines whose memories reserve so much.
pub(super) fn precompile(reservation: u64, component: &[u8]) -> Result<Vec<u8>> {
    compiler(reservation)?.precompile_component(component)
}

/// The same for a process that wants an answer soon: compiled in a fraction of the time, to code that runs more slowly.
pub(super) fn precompile_quickly(reservation: u64, component: &[u8]) -> Result<Vec<u8>> {
    let mut config = config(reservation)?;
    // Engines accept code of any level: the level does not change what the code means.
    config.cranelift_opt_level(OptLevel::None);
    config.cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    Engine::new(&config)?.precompile_component(component)
}

/// Opens what the kernel tells of this process's pages, by which a used slot of the pool is cleared at half the cost. To be
/// called before the process is closed to others: from then on only root opens files of `/proc` about it. wasmtime keeps
/// the opened file.
pub fn open_pagemap() {
    let _ = PoolingAllocationConfig::is_pagemap_scan_available();
}

/// Whether a pool of that size would find its address space.
fn has_room(slots: u32, reservation: u64) -> bool {
    let Ok(mut config) = config(reservation) else { return false };
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(slots, reservation)));
    Engine::new(&config).is_ok()
}

fn config(reservation: u64) -> Result<Config> {
    let mut config = Config::new();
    config.consume_fuel(true);
    // Twice the default: what fits into that is to fit too where it was compiled quickly, to functions that take more of it. The
    // rest is for the functions of the host.
    config.max_wasm_stack(1 << 20);
    config.async_stack_size(5 << 19);
    // A turn can be replayed bit for bit only if arithmetic has one answer.
    config.cranelift_nan_canonicalization(true);
    config.relaxed_simd_deterministic(true);
    // The features that a guest may use, listed: an update of wasmtime must not widen what is accepted.
    config.wasm_component_model(true);
    config.concurrency_support(false);
    config.wasm_simd(true);
    config.wasm_relaxed_simd(true);
    config.wasm_bulk_memory(true);
    config.wasm_multi_value(true);
    config.wasm_multi_memory(true);
    config.wasm_tail_call(true);
    config.wasm_extended_const(true);
    config.wasm_memory64(false);
    config.wasm_custom_page_sizes(false);
    config.wasm_wide_arithmetic(false);
    config.memory_reservation(reservation);
    config.memory_guard_size(if reservation == 0 { 64 << 10 } else { 32 << 20 });
    if reservation == 0 {
        config.memory_reservation_for_growth(1 << 20);
    }
    // Which functions ran when a guest was ended: of those that have names, its author is told.
    config.wasm_backtrace_max_frames(NonZeroUsize::new(FRAMES));
    // Addresses inside functions are not reported, and frames of guests are never unwound: a panic of the host is caught
    // before it reaches them. Without both tables compiled code is a tenth smaller, and loads without the unwinder.
    config.generate_address_map(false);
    config.native_unwind_info(false);
    Ok(config)
}

/// The largest memory in a slot that reserves so much address space.
fn largest(reservation: u64) -> usize {
    usize::try_from(reservation).unwrap_or(usize::MAX).min(256 << 20)
}

fn pool(slots: u32, reservation: u64) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(slots)
        .total_stacks(slots)
        .total_core_instances(8 * slots)
        .total_memories(2 * slots)
        .total_tables(3 * slots)
        // A Python guest has 38 core instances, a JavaScript one three memories.
        .max_core_instances_per_component(64)
        .max_memories_per_component(4)
        .max_tables_per_component(8)
        .max_memory_size(largest(reservation))
        .table_elements(20_000)
        // Pages that stay mapped between two calls: cheaper to clear than to fault in again.
        .linear_memory_keep_resident(64 << 10)
        .table_keep_resident(16 << 10)
        .async_stack_keep_resident(16 << 10)
        // Where the kernel can say which pages were touched (Linux 6.7), only those are put back: half the cost of a hook
        // call, because a Rust guest touches pages far above the lowest ones.
        .pagemap_scan(Enabled::Auto)
        .max_unused_warm_slots(slots / 4);
    pool
}

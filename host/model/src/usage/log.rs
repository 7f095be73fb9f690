//! The log of one home.

use super::call::Call;
use super::lines;
use bub_system::clock;
use jiff::civil::Date;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes of an earlier day's file that are read for calibration: about a thousand calls.
const LOOKED_BACK: u64 = 256 << 10;

/// The ending of a day's file.
const END: &str = ".jsonl";

/// The usage log, shared by all processes of a home.
pub struct UsageLog {
    dir: PathBuf,
    today: Mutex<Today>,
    /// The file that was written last.
    written: Mutex<Option<Written>>,
}

/// A day's file that this process has written to.
struct Written {
    file: File,
    /// Device and inode.
    id: (u64, u64),
    /// The end of this process's last line; 0 before the first.
    end: u64,
}

/// Cached sums of the current day, so that only new lines are read.
#[derive(Default)]
struct Today {
    date: Date,
    /// The inode of the file, and the bytes read of it.
    inode: u64,
    read: u64,
    /// Tokens of all calls, and by plugin.
    total: u64,
    plugins: BTreeMap<String, u64>,
    /// Tokens by principal other than the owner.
    callers: BTreeMap<String, u64>,
    /// Calibration by model.
    ratios: BTreeMap<String, bub_estimate::Ratio>,
    /// Whether calibration of earlier days was read.
    looked_back: bool,
}

impl UsageLog {
    /// The log of that home.
    pub fn new(home: &Path) -> Self {
        Self { dir: home.join("usage"), today: Mutex::default(), written: Mutex::default() }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Tokens used today, by all calls or by those of a plugin.
    ///
    /// # Errors
    ///
    /// Today's file cannot be read.
    pub fn used_today(&self, plugin: Option<&str>) -> io::Result<u64> {
        self.today(|today| match plugin {
            None => today.total,
            Some(plugin) => today.plugins.get(plugin).copied().unwrap_or_default(),
        })
    }

    /// Tokens used today for that principal's messages.
    ///
    /// # Errors
    ///
    /// Today's file cannot be read.
    pub fn used_today_by(&self, caller: &str) -> io::Result<u64> {
        let caller = super::call::clipped(caller);
        self.today(|today| today.callers.get(&caller).copied().unwrap_or_default())
    }

    /// The calibration of that model: reported to estimated tokens, of today or the last day with calls; 1 without
    /// reports.
    ///
    /// # Errors
    ///
    /// The day's file cannot be read.
    pub fn ratio(&self, model: &str) -> io::Result<bub_estimate::Ratio> {
        let (date, known, looked_back) =
            self.today(|today| (today.date, today.ratios.get(model).copied(), today.looked_back))?;
        if known.is_some() || looked_back {
            return Ok(known.unwrap_or_default());
        }
        let before = self.before(date)?;
        let mut today = self.today.lock();
        today.looked_back = true;
        for (model, ratio) in before {
            // Today's reports are newer.
            today.ratios.entry(model).or_insert(ratio);
        }
        Ok(today.ratios.get(model).copied().unwrap_or_default())
    }

    /// The ratios at the end of the last earlier day with calls.
    fn before(&self, date: Date) -> io::Result<BTreeMap<String, bub_estimate::Ratio>> {
        let mut day = Today::default();
        let Some(last) = self.days()?.into_iter().rfind(|day| *day < date) else { return Ok(day.ratios) };
        let file = File::open(self.file(last))?;
        // Recent reports weigh most; a first partial line is skipped.
        let from = file.metadata()?.len().saturating_sub(LOOKED_BACK);
        lines::read(&file, from, |line| {
            if let Some(call) = Call::read(line) {
                day.count(&call);
            }
        })?;
        Ok(day.ratios)
    }

    /// Days with a file, in order.
    fn days(&self) -> io::Result<Vec<Date>> {
        let files = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            files => files?,
        };
        let mut days = Vec::new();
        for file in files {
            let name = file?.file_name();
            days.extend(name.to_str().and_then(|name| name.strip_suffix(END)?.parse::<Date>().ok()));
        }
        days.sort();
        Ok(days)
    }

    fn today<T>(&self, look: impl FnOnce(&Today) -> T) -> io::Result<T> {
        let mut today = self.today.lock();
        today.turn_to(clock::now().date());
        match File::open(self.file(today.date)) {
            Ok(file) => today.catch_up(&file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => today.read_again(0),
            Err(error) => return Err(error),
        }
        Ok(look(&today))
    }

    /// Appends a call. If that fails, the call still counts in this process until the day ends.
    ///
    /// # Errors
    ///
    /// Today's file cannot be written.
    pub fn add(&self, call: &Call) -> io::Result<()> {
        let date = clock::now().date();
        self.append(date, call).inspect_err(|_| {
            let mut today = self.today.lock();
            today.turn_to(date);
            today.count(call);
        })
    }

    /// Passes the calls of a range of days (inclusive) to `each`, in order of writing. Only files of those days are
    /// read.
    ///
    /// # Errors
    ///
    /// A file cannot be read. Missing files are no error.
    pub(super) fn calls(&self, first: Date, last: Date, mut each: impl FnMut(Date, Call)) -> io::Result<()> {
        for day in self.days()?.into_iter().filter(|day| (first..=last).contains(day)) {
            let file = File::open(self.file(day))?;
            lines::read(&file, 0, |line| {
                if let Some(call) = Call::read(line) {
                    each(day, call);
                }
            })?;
        }
        Ok(())
    }

    fn file(&self, date: Date) -> PathBuf {
        self.dir.join(format!("{date}{END}"))
    }

    fn append(&self, date: Date, call: &Call) -> io::Result<()> {
        let path = self.file(date);
        let mut written = self.written.lock();
        let found = fs::metadata(&path).ok();
        // The file may have been moved or removed.
        let kept = written.take().filter(|kept| found.as_ref().is_some_and(|found| kept.id == id(found)));
        let mut kept = match kept {
            Some(kept) => kept,
            None => Written::new(self.open(&path)?)?,
        };
        let length = found.map_or(0, |found| found.len());
        let mut line = serde_json::to_string(call)?;
        line.push('\n');
        // If the last line is not ours, it may be incomplete: end it first, so that it does not swallow this one.
        if length != kept.end && !ends_whole(&kept.file)? {
            line.insert(0, '\n');
        }
        // One write, so that lines of several processes do not interleave.
        kept.file.write_all(line.as_bytes())?;
        kept.end = length.saturating_add(line.len() as u64);
        *written = Some(kept);
        Ok(())
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        match open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
                open(path)
            }
            file => file,
        }
    }
}

impl Written {
    fn new(file: File) -> io::Result<Self> {
        Ok(Self { id: id(&file.metadata()?), file, end: 0 })
    }
}

fn id(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

fn ends_whole(file: &File) -> io::Result<bool> {
    let Some(at) = file.metadata()?.len().checked_sub(1) else { return Ok(true) };
    let mut last = [0];
    file.read_exact_at(&mut last, at)?;
    Ok(last == *b"\n")
}

impl Today {
    fn turn_to(&mut self, date: Date) {
        if self.date != date {
            // Calibration remains valid on the next day.
            let (ratios, looked_back) = (std::mem::take(&mut self.ratios), self.looked_back);
            *self = Self { date, ratios, looked_back, ..Self::default() };
        }
    }

    /// Reads new lines. A replaced or truncated file is read from its beginning.
    fn catch_up(&mut self, file: &File) -> io::Result<()> {
        let about = file.metadata()?;
        if about.ino() != self.inode || about.len() < self.read {
            self.read_again(about.ino());
        }
        if about.len() > self.read {
            self.read = lines::read(file, self.read, |line| {
                if let Some(call) = Call::read(line) {
                    self.count(&call);
                }
            })?;
        }
        Ok(())
    }

    fn read_again(&mut self, inode: u64) {
        // A missing file does not reset calls that could not be written.
        if self.read > 0 {
            (self.total, self.read) = (0, 0);
            self.plugins.clear();
            self.callers.clear();
        }
        self.inode = inode;
    }

    fn count(&mut self, call: &Call) {
        let tokens = call.tokens().total;
        self.total = self.total.saturating_add(tokens);
        let plugin = self.plugins.entry(call.plugin.clone()).or_default();
        *plugin = plugin.saturating_add(tokens);
        if !call.caller.is_empty() {
            let caller = self.callers.entry(call.caller.clone()).or_default();
            *caller = caller.saturating_add(tokens);
        }
        if let Some((estimated, reported)) = call.report()
            && let Some(ratio) = bub_estimate::Ratio::report(self.ratios.get(&call.model).copied(), estimated, reported)
        {
            self.ratios.insert(call.model.clone(), ratio);
        }
    }
}

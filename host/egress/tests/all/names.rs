//! A resolver that answers what a test wants, and remembers what it was asked.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use bub_egress::{LookupFuture, Resolve};

#[derive(Clone, Default)]
pub struct Names {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// The answers for a name, one after the other, the last one again and again.
    answers: HashMap<String, Vec<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    /// Each name with all of its addresses.
    pub fn new<'a>(names: impl IntoIterator<Item = (&'a str, &'a [&'a str])>) -> Names {
        let answers = names.into_iter().map(|(name, addresses)| (name.to_owned(), vec![read(addresses)])).collect();
        Names { shared: Arc::new(Shared { answers, asked: Mutex::default() }) }
    }

    /// One name that has other addresses each time.
    pub fn changing(name: &str, answers: &[&[&str]]) -> Names {
        let answers = answers.iter().map(|addresses| read(addresses)).collect();
        let answers = HashMap::from([(name.to_owned(), answers)]);
        Names { shared: Arc::new(Shared { answers, asked: Mutex::default() }) }
    }

    pub fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().unwrap().clone()
    }
}

fn read(addresses: &[&str]) -> Vec<IpAddr> {
    addresses.iter().map(|address| address.parse().expect("it is an address")).collect()
}

impl Resolve for Names {
    fn resolve(&self, name: &str) -> LookupFuture {
        let mut asked = self.shared.asked.lock().unwrap();
        let before = asked.iter().filter(|one| *one == name).count();
        asked.push(name.to_owned());
        let answer = self.shared.answers.get(name).and_then(|answers| answers.get(before).or(answers.last())).cloned();
        Box::pin(async move { answer.ok_or_else(|| io::Error::other("no such name")) })
    }
}

//! What a transparency log says of its entry: a promise, or a proof with a checkpoint.

use crate::bundle::{Entry, Promise, Proof};
use crate::keys::{decode, encode, has_signed, hex, sha256};
use crate::root::Log;
use anyhow::{Context, Result, ensure};
use jiff::Timestamp;

/// The most signatures below a checkpoint that are read.
const MAX_SIGNATURES: usize = 32;

/// Verifies the log's promise to keep the entry. Returns when it was given.
pub(crate) fn verify_promise(entry: &Entry, promise: &Promise, log: &Log) -> Result<Timestamp> {
    let time = entry.integrated_time.context("its log entry has a promise, and no time")?.0;
    // JSON without spaces, with its keys in alphabetical order.
    let message = format!(
        r#"{{"body":"{}","integratedTime":{time},"logID":"{}","logIndex":{}}}"#,
        encode(&entry.canonicalized_body),
        hex(&log.id),
        entry.log_index.0
    );
    ensure!(
        has_signed(&log.key, message.as_bytes(), &promise.signed_entry_timestamp),
        "its log entry has a promise that the log has not signed"
    );
    let time = i64::try_from(time).ok().and_then(|time| Timestamp::from_second(time).ok());
    time.context("its log entry has a time that is none")
}

/// Verifies that the log has the entry: the way from it to the root of the tree, and the signature over that root.
pub(crate) fn verify_proof(entry: &Entry, proof: &Proof, log: &Log) -> Result<()> {
    let (index, size) = (proof.log_index.0, proof.tree_size.0);
    ensure!(index < size, "its log entry has a proof for entry {index} of a tree with {size}");
    let leaf = sha256(&[&[0], &entry.canonicalized_body]);
    // Up to where the ways of this entry and of the last one meet, there are nodes on both sides; above, on the left.
    let inner = (u64::BITS - (index ^ (size - 1)).leading_zeros()) as usize;
    let border = index.checked_shr(inner as u32).unwrap_or_default().count_ones() as usize;
    ensure!(
        proof.hashes.len() == inner + border && proof.hashes.iter().all(|hash| hash.len() == 32),
        "its log entry has a proof that does not fit a tree with {size} entries"
    );
    let root = proof.hashes.iter().enumerate().fold(leaf, |node, (level, hash)| {
        let is_left = level < inner && index >> level & 1 == 0;
        if is_left { sha256(&[&[1], &node, hash]) } else { sha256(&[&[1], hash, &node]) }
    });
    ensure!(root[..] == *proof.root_hash, "its log entry has a proof for another entry");
    let checkpoint = proof.checkpoint.as_ref().context("its log entry has a proof without a checkpoint")?;
    verify_checkpoint(&checkpoint.envelope, size, &root, log)
}

/// Verifies the signature of the log over the size and the root of its tree.
fn verify_checkpoint(envelope: &str, size: u64, root: &[u8], log: &Log) -> Result<()> {
    let wrong = "its log entry has a checkpoint that is not understood";
    let (note, signatures) = envelope.split_once("\n\n").context(wrong)?;
    let mut lines = note.lines();
    let (origin, signed_size, signed_root) = (lines.next(), lines.next(), lines.next());
    ensure!(origin.is_some_and(|origin| !origin.is_empty()), wrong);
    let signed_size: u64 = signed_size.and_then(|size| size.parse().ok()).context(wrong)?;
    let signed_root = signed_root.and_then(|root| decode(root).ok()).context(wrong)?;
    ensure!(
        signed_size == size && signed_root == root,
        "its log entry has a checkpoint of another tree, with {signed_size} entries"
    );
    // Text ends with a line feed, which is signed too.
    let note = &envelope.as_bytes()[..=note.len()];
    let ids = [Some(&log.id), log.checkpoint_id.as_ref()];
    let is_signed = signatures.lines().take(MAX_SIGNATURES).any(|line| {
        let signature = line.strip_prefix("\u{2014} ").and_then(|line| line.split_once(' '));
        let signature = signature.and_then(|(_, signature)| decode(signature).ok()).unwrap_or_default();
        // The first bytes are those of the key's id.
        let Some((id, signature)) = signature.split_at_checked(4) else { return false };
        ids.iter().flatten().any(|known| known.starts_with(id)) && has_signed(&log.key, note, signature)
    });
    ensure!(is_signed, "its log entry has a checkpoint that the log has not signed");
    Ok(())
}

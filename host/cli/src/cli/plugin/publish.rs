//! `plugin publish`: builds, tests, signs and pushes the project of a plugin.

use super::key::KeyOptions;
use super::project::Project;
use super::{key, registry, test};
use anyhow::{Context, Result, ensure};
use bub_config::Config;
use bub_registry::manifest::World;
use bub_registry::{PublicKey, Publication, Reference, Repository, SCHEME, Signature};
use bub_runtime::guest::SERVED;
use bub_runtime::plugin::{ComponentWorld, Manifest, bytes_of};
use bub_system::files::read_regular;
use bub_types::text::{bytes, one_line};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The file of a project that is pushed as its README.
const README: &str = "README.md";

/// The largest README that is read, in bytes.
const MAX_README: usize = 1 << 20;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Directory of the project, with its `bub-plugin.toml`
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Repository to push to, as in `oci://HOST/PATH` [default: the plugin's name below `default` of `[registry]`]
    #[arg(long, value_name = "REPOSITORY")]
    to: Option<String>,
    /// Do everything but the push
    #[arg(long)]
    dry_run: bool,
    /// Push without a signature
    #[arg(long, conflicts_with = "key")]
    unsigned: bool,
    #[command(flatten)]
    key: KeyOptions,
}

pub(super) async fn run(arguments: Arguments, config: Config) -> Result<ExitCode> {
    let Arguments { dir, to, dry_run, unsigned, key } = arguments;
    let project = Project::read(&dir)?;
    let repository = repository(&config, to.as_deref(), &project.name)?;
    // A wrong password is reported before the build.
    let secret = key.read()?;
    ensure!(
        secret.is_some() || unsigned,
        "nothing signs the plugin: name the secret key by `--key FILE`, which `bub-wasm plugin key FILE` makes, or give \
         `--unsigned`"
    );
    if test::run_in(&dir, &config).await? != ExitCode::SUCCESS {
        return Ok(ExitCode::FAILURE);
    }
    let artifact = project.artifact();
    let component = bytes_of(&artifact).with_context(|| format!("`{}`", one_line(&artifact.display().to_string())))?;
    let unfit = || format!("plugin `{}` is not published", project.name);
    let (name, version) = key::identity(&component).with_context(unfit)?;
    ensure!(
        name == project.name,
        "plugin `{}` is not published: its manifest names it `{}`",
        project.name,
        one_line(&name)
    );
    let world = ComponentWorld::read(&component).with_context(unfit)?;
    ComponentWorld::check_served(&world.imports, &world.exports, SERVED).with_context(unfit)?;
    let text = world.manifest.as_deref().unwrap_or_default();
    let about = Manifest::parse(text.as_bytes()).with_context(unfit)?.about;
    let readme = readme(&dir)?;
    let signature = match &secret {
        Some(key) => Some((Signature::new(key, &component, &name, &version)?, key.public().clone())),
        None => None,
    };
    let reference = Reference::parse(&format!("{repository}:{version}"), None)?;
    let publication = Publication {
        reference,
        name: &name,
        about: &about,
        component: &component,
        plugin_manifest: text,
        world: World { exports: world.exports.clone(), imports: world.imports.clone(), target: None },
        readme: readme.as_deref(),
        signature: signature.as_ref().map(|(signature, key)| (signature, key)),
    };
    let mut out = std::io::stdout();
    describe(&mut out, &publication, signature.as_ref().map(|(_, key)| key))?;
    let registry = registry::open(&config, &repository.host).await?;
    if dry_run {
        let there = registry.is_there(&publication).await?;
        let said = if there.is_some() { "the registry has it already" } else { "nothing was pushed" };
        writeln!(out, "{said}; without `--dry-run` it would be `{}`", publication.reference)?;
        return Ok(ExitCode::SUCCESS);
    }
    let published = registry.publish(&publication).await?;
    let said = if published.was_there { "was there already" } else { "is published" };
    writeln!(out, "`{}` {said}: {}", publication.reference, published.digest)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what is pushed.
fn describe(out: &mut impl Write, publication: &Publication<'_>, key: Option<&PublicKey>) -> Result<()> {
    let size = bytes(publication.component.len() as u64);
    let readme = publication
        .readme
        .map_or("no README.md".to_owned(), |text| format!("a README of {}", bytes(text.len() as u64)));
    writeln!(out, "component {size}, {} imports, {readme}", publication.world.imports.len())?;
    match key {
        Some(key) => writeln!(out, "signed by key {}, public key {key}", key.id())?,
        None => writeln!(out, "not signed")?,
    }
    Ok(())
}

fn repository(config: &Config, to: Option<&str>, name: &str) -> Result<Repository> {
    let text = match (to, &config.registry.default) {
        (Some(to), _) => {
            ensure!(to.starts_with(SCHEME), "`{}` is not in a registry: write `oci://HOST/PATH`", one_line(to));
            to.to_owned()
        }
        (None, Some(default)) => format!("{}/{name}", default.trim_end_matches('/')),
        (None, None) => anyhow::bail!(
            "there is no default registry: name the repository by `--to oci://HOST/PATH`, or set `default` in \
             `[registry]` of config.toml"
        ),
    };
    text.parse()
}

fn readme(dir: &Path) -> Result<Option<String>> {
    let path = dir.join(README);
    let shown = one_line(&path.display().to_string());
    match read_regular(&path, MAX_README) {
        Ok((bytes, _)) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("`{shown}` cannot be read")),
    }
}

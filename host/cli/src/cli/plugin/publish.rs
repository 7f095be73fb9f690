//! `plugin publish`: builds, tests, signs and pushes the project of a plugin.

use super::key::KeyOptions;
use super::project::Project;
use super::{registry, test};
use anyhow::{Context, Result, ensure};
use bub_config::Config;
use bub_registry::manifest::World;
use bub_registry::{Bundle, MAX_BUNDLE, PublicKey, Publication, Reference, Repository, SCHEME, Signature};
use bub_runtime::guest::SERVED;
use bub_runtime::plugin::{ComponentWorld, Manifest, bytes_of, own_identity};
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
    #[arg(long, conflicts_with_all = ["key", "bundle"])]
    unsigned: bool,
    /// File of a keyless signature of the component, a bundle of Sigstore
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    #[command(flatten)]
    key: KeyOptions,
}

pub(super) async fn run(arguments: Arguments, config: Config) -> Result<ExitCode> {
    let Arguments { dir, to, dry_run, unsigned, bundle, key } = arguments;
    let project = Project::read(&dir)?;
    let repository = repository(&config, to.as_deref(), &project.name)?;
    // A wrong password is reported before the build.
    let secret = key.read()?;
    ensure!(
        secret.is_some() || bundle.is_some() || unsigned,
        "nothing signs the plugin: name the secret key by `--key FILE`, which `bub-wasm plugin key FILE` makes, a keyless \
         signature by `--bundle FILE`, or give `--unsigned`"
    );
    let bundle = bundle.as_deref().map(read_bundle).transpose()?;
    if test::run_in(&dir, &config).await? != ExitCode::SUCCESS {
        return Ok(ExitCode::FAILURE);
    }
    let artifact = project.artifact();
    let component = bytes_of(&artifact).with_context(|| format!("`{}`", one_line(&artifact.display().to_string())))?;
    let unfit = || format!("plugin `{}` is not published", project.name);
    let (name, version) = own_identity(&component).with_context(unfit)?;
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
    if let Some(bundle) = &bundle {
        check_bundle(&config, bundle, &component).with_context(unfit)?;
    }
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
        bundle: bundle.as_ref(),
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
        None if publication.bundle.is_none() => writeln!(out, "not signed")?,
        None => {}
    }
    if let Some(bundle) = publication.bundle {
        writeln!(out, "signed by {}", bundle.claimed())?;
    }
    Ok(())
}

fn read_bundle(file: &Path) -> Result<Bundle> {
    let shown = one_line(&file.display().to_string());
    let (bytes, _) = read_regular(file, MAX_BUNDLE + 1).with_context(|| format!("`{shown}` cannot be read"))?;
    Bundle::parse(&bytes).with_context(|| format!("`{shown}`"))
}

/// Checks that a bundle is for this component; without a trusted root, only what it says itself.
fn check_bundle(config: &Config, bundle: &Bundle, component: &[u8]) -> Result<()> {
    match config.trust.read_root()? {
        Some(root) => bundle.verify(component, &root).map(drop),
        None => bundle.check_subject(component),
    }
    .context("its bundle: build the component, sign the file, and publish the same bytes")
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

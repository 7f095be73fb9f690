/** Errors: what a plugin answers with when something failed. */

/** An error of the contract `bub:types/error`: a kind, a sentence and, where they help, details. */
export class PluginError extends Error {
  constructor(kind, message, details) {
    super(message);
    this.name = "PluginError";
    this.kind = kind;
    this.details = details;
  }

  /** The caller passed something that it can correct: the message says what, and what to do about it. */
  static invalid(message) {
    return new PluginError("invalid-input", message);
  }

  /** What was asked for does not exist. */
  static notFound(message) {
    return new PluginError("not-found", message);
  }

  /** A later attempt may succeed, after that many seconds if they are known. */
  static temporary(message, retryAfter) {
    return new PluginError("temporary", message, retryAfter === undefined ? undefined : { retry_after: retryAfter });
  }
}

/**
 * Runs a function, and puts in front of its error what was being done. The kind and the details stay. An error that is none of
 * the contract passes: it is a mistake in the plugin's code, and its author reads the stack.
 */
export function context(what, run) {
  try {
    return run();
  } catch (error) {
    if (error instanceof PluginError) {
      const framed = new PluginError(error.kind, `${what}: ${error.message}`, error.details);
      framed.cause = error;
      throw framed;
    }
    throw error;
  }
}

/** Calls the host, and throws its errors as `PluginError`. */
export function ask(run) {
  try {
    return run();
  } catch (thrown) {
    throw lift(thrown);
  }
}

/** An error of the host; anything else as it is. */
export function lift(thrown) {
  const value = thrown?.payload ?? thrown;
  if (thrown instanceof Error && value === thrown) return thrown;
  if (typeof value?.kind !== "string" || typeof value.message !== "string") return thrown;
  return new PluginError(value.kind, value.message, value.details ? JSON.parse(value.details) : undefined);
}

/** The record of the contract for an error of the plugin; none for one that is a mistake in its code. */
export function lower(error) {
  if (!(error instanceof PluginError)) return undefined;
  const details = error.details === undefined ? undefined : JSON.stringify(error.details);
  return { kind: error.kind, message: clean(error.message), details: details && clean(details) };
}

/** The same text without lone surrogates, which UTF-8 cannot express: U+FFFD stands for each. */
export function clean(text) {
  return text.toWellFormed ? text.toWellFormed() : text.replace(/\p{Surrogate}/gu, "\ufffd");
}

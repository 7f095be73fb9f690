/** HTTP requests over `wasi:http`. */

import { HttpError, parts } from "../http.js";
import { encode } from "../text.js";

const PIECE = 64 * 1024;
const METHODS = ["get", "head", "post", "put", "delete", "patch"];

/** Sends requests by the bindings of `wasi:http`. */
export function opener({ httpTypes: wasi, outgoingHandler }) {
  return (request) => {
    const { scheme, authority, path } = parts(request.url);
    const headers = [...request.headers];
    if (request.content) headers.push(["content-length", String(request.content.length)]);
    const fields = new wasi.Fields();
    for (const [name, value] of headers) {
      attempt(`header \`${name}\` cannot be sent`, () => fields.append(name, encode(value)));
    }
    const outgoing = new wasi.OutgoingRequest(fields);
    attempt(`\`${request.url}\` is no address`, () => {
      const method = request.method.toLowerCase();
      outgoing.setMethod(METHODS.includes(method) ? { tag: method } : { tag: "other", val: request.method });
      outgoing.setScheme({ tag: scheme === "http" ? "HTTP" : "HTTPS" });
      outgoing.setAuthority(authority);
      outgoing.setPathWithQuery(path);
    });
    const options = new wasi.RequestOptions();
    const limit = Math.round(request.seconds * 1e9);
    // A host that does not know such limits has limits of its own.
    quietly(() => options.setFirstByteTimeout(limit));
    quietly(() => options.setBetweenBytesTimeout(limit));
    const body = outgoing.body();
    let coming;
    try {
      coming = outgoingHandler.handle(outgoing, options);
    } catch (code) {
      throw failed(code);
    }
    // A server that hangs up in the middle says why in its response, or there is none.
    quietly(() => request.content && write(body, request.content));
    quietly(() => wasi.OutgoingBody.finish(body, undefined));
    const ready = coming.subscribe();
    ready.block();
    drop(ready);
    const answer = value(coming.get());
    if (answer?.tag !== "ok") throw failed(answer?.val);
    const response = answer.val;
    const received = response.headers();
    const head = { status: response.status(), headers: received.entries() };
    drop(received, coming);
    return { ...head, pieces: pieces(response) };
  };
}

/** The inner result of `option<result<result<T, E>>>`. */
function value(answer) {
  return answer?.tag === "ok" ? answer.val : undefined;
}

function attempt(message, run) {
  try {
    run();
  } catch {
    throw new HttpError("invalid", message);
  }
}

function quietly(run) {
  try {
    run();
  } catch {
    // The next step shows whether it mattered.
  }
}

function write(body, content) {
  const stream = body.write();
  for (let at = 0; at < content.length; at += 4096) stream.blockingWriteAndFlush(content.subarray(at, at + 4096));
  drop(stream);
}

// Handles that are in use. The host takes a handle back only after those that were made of it, and the interpreter drops what
// nothing refers to in an order of its own.
const open = new Set();

function* pieces(response) {
  const incoming = response.consume();
  const stream = incoming.stream();
  const handles = [stream, incoming, response];
  open.add(handles);
  for (;;) {
    let piece;
    try {
      piece = stream.blockingRead(PIECE);
    } catch (error) {
      drop(...handles);
      open.delete(handles);
      if ((error?.payload ?? error)?.tag === "closed") return;
      throw new HttpError("broken", "the answer was cut off");
    }
    if (piece.length) yield piece;
  }
}

function drop(...handles) {
  for (const handle of handles) handle[Symbol.dispose]();
}

function failed(thrown) {
  const code = thrown?.payload ?? thrown ?? { tag: "nothing came" };
  switch (code.tag) {
    case "HTTP-request-denied":
      return new HttpError("denied", "the host refused the request; its log says why");
    case "destination-IP-prohibited":
      return new HttpError("private-address", "the server's address is not public; grant `http:` with exactly that host");
    case "HTTP-request-body-size":
      return new HttpError("request-too-large", `it is larger than the ${Math.floor((code.val ?? 0) / 2 ** 20)} MiB of a request`);
    case "HTTP-response-body-size":
      return new HttpError("response-too-large", "the answer is larger than an answer may be");
    case "HTTP-request-URI-invalid":
      return new HttpError("invalid", "the address leads nowhere");
    case "HTTP-response-timeout":
    case "connection-timeout":
    case "connection-read-timeout":
      return new HttpError("timeout", "it did not answer in time");
    default: {
      // The server's address stands in front, and is said by the code that shows this.
      const why = code.tag === "internal-error" && code.val ? code.val.replace(/^`[^`]*`: /, "") : String(code.tag);
      return new HttpError("broken", why);
    }
  }
}

/** HTTP requests, to the hosts that grants name. */

import { host } from "./backend.js";
import { PluginError, clean, context } from "./error.js";
import { decode, dumps, encode, loads } from "./text.js";

const KINDS = {
  denied: "denied",
  "private-address": "denied",
  invalid: "invalid-input",
  "request-too-large": "invalid-input",
  "response-too-large": "tool",
  timeout: "temporary",
  broken: "temporary",
};

/** Why a request has no response. */
export class HttpError extends PluginError {
  constructor(failure, message) {
    super(KINDS[failure], message);
    this.failure = failure;
  }
}

/** A request. Each method returns another one. */
export class Request {
  constructor(method, url, rest = {}) {
    Object.assign(this, { method, url, headers: [], content: undefined, seconds: 30, ...rest });
  }

  with(rest) {
    return new Request(this.method, this.url, { ...this, ...rest });
  }

  /** Adds a header. A secret's placeholder can stand in its value. */
  header(name, value) {
    return this.with({ headers: [...this.headers, [name, value]] });
  }

  /** The value of a header, for tests. */
  headerValue(name) {
    return this.headers.find(([known]) => known.toLowerCase() === name.toLowerCase())?.[1];
  }

  /** Adds a parameter to the query, percent-encoded. */
  query(name, value) {
    const separator = this.url.includes("?") ? "&" : "?";
    return this.with({ url: `${this.url}${separator}${escape(name)}=${escape(String(value))}` });
  }

  /** Sets the body: bytes or a text. */
  body(content) {
    return this.with({ content: typeof content === "string" ? encode(content) : content });
  }

  /** Sets the body to the JSON of a value, and `content-type` with it. */
  json(value) {
    return this.header("content-type", "application/json").body(dumps(value));
  }

  /** Limits in seconds how long the head of the response, and each piece of its body, may take. */
  timeout(seconds) {
    return this.with({ seconds });
  }

  /** Sends it, and waits for the whole response. A response of any status is no error. */
  send() {
    return this.open().collect();
  }

  /** Sends it, and waits for the head of the response. */
  open() {
    parts(this.url);
    const { status, headers, pieces } = host().openHttp(this);
    return new Stream(status, headers, pieces);
  }
}

function escape(text) {
  return encodeURIComponent(clean(text)).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Scheme, host with its port, and the path with its query, of an `http:` or `https:` URL. */
export function parts(url) {
  const found = /^(https?):\/\/([^/?]+)(.*)$/su.exec(url);
  if (!found) throw new HttpError("invalid", `\`${url}\` is no address`);
  return { scheme: found[1], authority: found[2], path: found[3] };
}

class Head {
  constructor(status, headers) {
    Object.assign(this, { status, headers });
  }

  /** The first header of that name, if it is a text. */
  header(name) {
    const value = this.headers.find(([known]) => known.toLowerCase() === name.toLowerCase())?.[1];
    if (value === undefined) return undefined;
    return (typeof value === "string" ? value : decode(value)).trim();
  }

  /** The same response, if its status is one of success; else an error whose kind says whether to try again. */
  success() {
    const { status } = this;
    if (status >= 200 && status < 300) return this;
    let kind = "tool";
    if (status === 401 || status === 403) kind = "denied";
    else if (status === 404 || status === 410) kind = "not-found";
    else if ([408, 425, 429].includes(status) || (status >= 500 && status < 600)) kind = "temporary";
    const after = this.header("retry-after");
    const details = /^[0-9]+$/.test(after ?? "") ? { retry_after: Number(after) } : undefined;
    throw new PluginError(kind, `the server answered with status ${status}`, details);
  }
}

/** A response with its whole body. */
export class Response extends Head {
  constructor(status, headers, body) {
    super(status, headers);
    this.body = body;
  }

  /** The body as text. */
  text() {
    return context("the server's answer", () => decode(this.body, true));
  }

  /** The body read from JSON, and by a type if one is given. */
  json(type) {
    return context("the server's answer", () => {
      const value = loads(decode(this.body, true));
      return type ? type.read(value) : value;
    });
  }
}

/** A response whose body is read piece by piece. */
export class Stream extends Head {
  constructor(status, headers, pieces) {
    super(status, headers);
    this.pieces = pieces;
  }

  /** Waits for the rest of the body. */
  collect() {
    const pieces = [...this.pieces];
    const body = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      body.set(piece, at);
      at += piece.length;
    }
    return new Response(this.status, this.headers, body);
  }

  /** The lines of the body without their ends. Bytes that are no UTF-8 are replaced. */
  *lines() {
    let rest = [];
    for (const piece of this.pieces) {
      for (const byte of piece) {
        if (byte !== 10) rest.push(byte);
        else {
          yield decode(rest).replace(/\r$/, "");
          rest = [];
        }
      }
    }
    if (rest.length) yield decode(rest).replace(/\r$/, "");
  }
}

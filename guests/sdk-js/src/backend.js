/** The host that answers: that of the component, or the fake one of a test. */

let current;

/** Lets that host answer: an object with an interface of the contracts under each name, and `openHttp`. */
export function use(backend) {
  current = backend;
}

/** The host that answers. */
export function host() {
  if (!current) throw new Error("there is no host: a test makes one with `new Host(plugin)` of `bub-guest/test`");
  return current;
}

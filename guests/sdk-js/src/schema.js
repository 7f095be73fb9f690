/** Types of arguments and configurations: their JSON Schema, and values read by them. */

import { PluginError } from "./error.js";

const WORDS = { string: "a text", integer: "a whole number", number: "a number", boolean: "`true` or `false`" };

/** A type. Each method returns another one, so that types can be shared. */
export class Type {
  constructor(kind, rest = {}) {
    Object.assign(this, { kind, keywords: {}, isOptional: false, ...rest });
  }

  with(rest) {
    return new Type(this.kind, { ...this, ...rest });
  }

  keyword(name, value) {
    return this.with({ keywords: { ...this.keywords, [name]: value } });
  }

  /** It may be left out. */
  optional() {
    return this.with({ isOptional: true });
  }

  /** It may be left out, and is this then. */
  default(value) {
    return this.with({ isOptional: true, fallback: value });
  }

  /** The least number, or the least length. */
  min(limit) {
    return this.keyword({ string: "minLength", list: "minItems" }[this.kind] ?? "minimum", limit);
  }

  /** The greatest number, or the greatest length. */
  max(limit) {
    return this.keyword({ string: "maxLength", list: "maxItems" }[this.kind] ?? "maximum", limit);
  }

  /** A regular expression that a text matches. */
  pattern(source) {
    return this.keyword("pattern", source instanceof RegExp ? source.source : source);
  }

  /** The JSON Schema. */
  schema() {
    const about = this.about ? { description: this.about } : {};
    const fallback = this.fallback === undefined ? {} : { default: this.fallback };
    return { ...this.node(), ...about, ...this.keywords, ...fallback };
  }

  node() {
    switch (this.kind) {
      case "any":
        return {};
      case "choice":
        return { enum: this.choices };
      case "list":
        return { type: "array", items: this.of.schema() };
      case "map":
        return { type: "object", additionalProperties: this.of.schema() };
      case "nullable":
        return { anyOf: [this.of.schema(), { type: "null" }] };
      case "object": {
        const entries = Object.entries(this.fields);
        const required = entries.filter(([, field]) => !field.isOptional).map(([name]) => name);
        const properties = Object.fromEntries(entries.map(([name, field]) => [name, field.schema()]));
        return { type: "object", properties, additionalProperties: false, ...(required.length ? { required } : {}) };
      }
      default:
        return { type: this.kind };
    }
  }

  /** The value, with what was left out filled in. `invalid-input` with the place that does not fit. */
  read(value, name = "it") {
    const unfit = (wanted) => PluginError.invalid(`\`${name}\` must be ${wanted}, and is ${word(value)}`);
    switch (this.kind) {
      case "any":
        return value;
      case "choice":
        if (!this.choices.includes(value)) throw unfit(this.choices.map((choice) => `\`${choice}\``).join(" or "));
        return value;
      case "list":
        if (!Array.isArray(value)) throw unfit("a list");
        return value.map((element, index) => this.of.read(element, `${name}[${index}]`));
      case "map":
        if (!isObject(value)) throw unfit("an object");
        return Object.fromEntries(Object.entries(value).map(([key, of]) => [key, this.of.read(of, `${name}.${key}`)]));
      case "nullable":
        return value === null ? null : this.of.read(value, name);
      case "object":
        return this.readObject(value, name === "it" ? "" : `${name}.`);
      default: {
        const fits = this.kind === "integer" ? Number.isInteger(value) : typeof value === this.kind;
        if (!fits) throw unfit(WORDS[this.kind]);
        return value;
      }
    }
  }

  readObject(value, place) {
    if (!isObject(value)) {
      throw PluginError.invalid(`\`${place.slice(0, -1) || "it"}\` must be an object, and is ${word(value)}`);
    }
    for (const name of Object.keys(value)) {
      if (Object.hasOwn(this.fields, name)) continue;
      const known = Object.keys(this.fields).map((field) => `\`${field}\``);
      throw PluginError.invalid(`\`${place}${name}\` is not known; there are ${known.join(", ") || "none"}`);
    }
    const read = {};
    for (const [name, field] of Object.entries(this.fields)) {
      if (Object.hasOwn(value, name)) read[name] = field.read(value[name], `${place}${name}`);
      else if (!field.isOptional) throw PluginError.invalid(`\`${place}${name}\` is missing`);
      else if (field.fallback !== undefined) read[name] = structured(field.fallback);
    }
    return read;
  }
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function structured(value) {
  return typeof value === "object" && value !== null ? JSON.parse(JSON.stringify(value)) : value;
}

function word(value) {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "a list";
  return { boolean: "true or false", number: "a number", string: "a text" }[typeof value] ?? "an object";
}

/** Makes types. The text is the description that a model or a user reads. */
export const t = {
  string: (about) => new Type("string", { about }),
  integer: (about) => new Type("integer", { about }),
  number: (about) => new Type("number", { about }),
  boolean: (about) => new Type("boolean", { about }),
  any: (about) => new Type("any", { about }),
  choice: (choices, about) => new Type("choice", { choices, about }),
  list: (of, about) => new Type("list", { of, about }),
  map: (of, about) => new Type("map", { of, about }),
  nullable: (of, about) => new Type("nullable", { of, about }),
  object: (fields, about) => new Type("object", { fields, about }),
};

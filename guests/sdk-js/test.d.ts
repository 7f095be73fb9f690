/** A host for native tests. */

import type {
  Entry,
  Envelope,
  ModelEvent,
  ModelRequest,
  Plugin,
  Prompt,
  Request,
  Response,
  Sink,
  StreamEvent,
  Turn,
  View,
} from "./index.js";

/** A response with that status and body. */
export function response(status: number, body?: string | Uint8Array, headers?: [string, string][]): Response;

/** A fake host. It answers from when it is made until another one is made. */
export class Host {
  constructor(
    plugin: Plugin<any>,
    given?: {
      config?: Record<string, unknown>;
      secrets?: Record<string, string>;
      /** Grants that the plugin does not hold. */
      without?: string[];
      message?: string | (Partial<Envelope> & { content: string });
      principal?: "owner" | "peer" | "anonymous" | "schedule";
      tainted?: boolean;
      workspace?: string;
      started?: string;
      state?: Record<string, unknown>;
      entries?: [kind: string, payload: unknown][];
      newMessages?: unknown[];
      budget?: number;
      systemPrompt?: string;
      http?: (request: Request) => Response;
      model?: (request: ModelRequest) => string;
      tools?: Record<string, (given: any) => unknown>;
      /** The files of the directories that the plugin may use, by their paths. */
      files?: Record<string, string>;
      run?: (command: string) => [code: number, output: string];
    },
  );
  call(name: string, given?: Record<string, unknown>): any;
  runCommand(name: string, ...given: string[]): string;
  turn(): Turn;
  view(): View;
  sink(): Sink;
  prompt(text?: string): Prompt;
  entries(tape?: string): Entry[];
  state(key: string): any;
  /** The text of a file. */
  file(path: string): string | undefined;
  readonly requests: Request[];
  readonly modelCalls: ModelRequest[];
  readonly logged: [level: string, message: string][];
  readonly sent: ModelEvent[];
  readonly emitted: StreamEvent[];
}

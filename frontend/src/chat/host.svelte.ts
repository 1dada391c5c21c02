import {
  App,
  type McpUiHostContext,
  type McpUiToolInputNotification,
  type McpUiToolResultNotification,
} from '@modelcontextprotocol/ext-apps';
import { Api } from '$lib/api/api';
import { Http, refusal } from '$lib/api/http';
import type { Drop } from '$lib/api/types';

type Input = NonNullable<McpUiToolInputNotification['params']['arguments']>;
export type Result = McpUiToolResultNotification['params'];

/** The tools by which this page asks, and gives a file; see backend/mcpserver/chatpage.go. */
const PAGE_TOOL = 'forevervm-page';
const DROP_TOOL = 'forevervm-drop';
const PLOTLY = '/plotly.js.gz';
/** Bytes of a file that go at once: apps refuse messages of more than a megabyte. */
const PIECE = 512 << 10;

/** A piece of an answer: bytes from its offset on, of `size` in all. */
interface Piece {
  status: number;
  mime: string;
  size: number;
  /** In base64. */
  content: string;
}

/** The AI app that shows this page under a call of a tool. */
export class Host {
  /** What the tool was called with; null until the app says. */
  input = $state.raw<Input | null>(null);
  /** What the tool answered. */
  result = $state.raw<Result | null>(null);
  cancelled = $state(false);
  context = $state.raw<McpUiHostContext>({});

  /** The daemon's API, as far as the page may ask for it. */
  readonly api = new Api(new AskedHttp((...asked) => this.ask(...asked)));
  private readonly app = new App(
    { name: 'ForeverVM', version: '1' },
    { availableDisplayModes: ['inline', 'fullscreen'] },
  );

  async connect(): Promise<void> {
    this.app.ontoolinput = ({ arguments: input }) => (this.input = input ?? {});
    this.app.ontoolresult = (result) => (this.result = result);
    this.app.ontoolcancelled = () => (this.cancelled = true);
    this.app.onhostcontextchanged = (changed) => (this.context = { ...this.context, ...changed });
    await this.app.connect();
    this.context = this.app.getHostContext() ?? {};
  }

  /** Stops what runs in a machine. */
  async stop(machine: string): Promise<void> {
    const name = 'interrupt-python-repl';
    await this.app.callServerTool({ name, arguments: { replId: machine } });
  }

  /** Runs code in a machine, as a step that everybody sees. */
  async run(machine: string, code: string): Promise<Result> {
    const name = 'run-python-in-repl';
    return this.app.callServerTool({ name, arguments: { replId: machine, pythonCode: code } });
  }

  get opensLinks(): boolean {
    return this.app.getHostCapabilities()?.openLinks !== undefined;
  }

  async open(url: string): Promise<void> {
    await this.app.openLink({ url });
  }

  get enlarges(): boolean {
    return this.context.availableDisplayModes?.includes('fullscreen') ?? false;
  }

  async enlarge(): Promise<void> {
    const mode = this.context.displayMode === 'fullscreen' ? 'inline' : 'fullscreen';
    await this.app.requestDisplayMode({ mode });
  }

  get saves(): boolean {
    return this.app.getHostCapabilities()?.downloadFile !== undefined;
  }

  /** Has the app save a file for the person. */
  async save(name: string, content: Blob): Promise<string> {
    const blob = base64(new Uint8Array(await content.arrayBuffer()));
    const mimeType = content.type || 'application/octet-stream';
    await this.app.downloadFile({
      contents: [{ type: 'resource', resource: { uri: `file:///${name}`, mimeType, blob } }],
    });
    return name;
  }

  /** Sends the file for a place, in pieces, and returns the place. */
  async give(code: string, file: File, onsent: (bytes: number) => void): Promise<Drop> {
    const { name, size } = file;
    for (let offset = 0; ;) {
      const piece = new Uint8Array(await file.slice(offset, offset + PIECE).arrayBuffer());
      const place = await this.api.post('/api/drops/{code}/pieces', {
        params: { path: { code } },
        body: { name, offset, size, content: base64(piece) },
      });
      offset += piece.length;
      onsent(offset);
      if (offset >= size) {
        void this.app
          .updateModelContext({
            content: [{ type: 'text', text: `The user gave the file ${String(place.file)}.` }],
          })
          .catch(() => undefined); // not every app takes it
        return place;
      }
    }
  }

  /** Plotly's code, which the server has. */
  async plotly(): Promise<string> {
    const { body } = await this.ask('GET', PLOTLY, '');
    if (!body) throw new Error('Plotly did not come.');
    return new Response(body.pipeThrough(new DecompressionStream('gzip'))).text();
  }

  /** Asks the server, in as many pieces as the answer has. */
  private async ask(method: string, address: string, body: string): Promise<Response> {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let had = 0;
    for (;;) {
      const { structuredContent, isError } = await this.app.callServerTool({
        ...(address.endsWith('/pieces')
          ? { name: DROP_TOOL, arguments: { method, address, body } }
          : {
              name: PAGE_TOOL,
              arguments: { method, address, offset: had, ...(body ? { body } : {}) },
            }),
      });
      if (isError || !structuredContent) return new Response('', { status: 503 });
      const { status, mime, size, content } = structuredContent as unknown as Piece;
      const part = Uint8Array.from(atob(content), (c) => c.charCodeAt(0));
      parts.push(part);
      had += part.length;
      if (had >= size || part.length === 0) {
        return new Response(new Blob(parts), { status, headers: { 'Content-Type': mime } });
      }
    }
  }
}

type Ask = (method: string, address: string, body: string) => Promise<Response>;

/** HTTP that goes through the AI app: this page reaches no network. */
class AskedHttp extends Http {
  /** Never looked up: requests need an origin. */
  static readonly ORIGIN = 'https://forevervm.invalid';

  constructor(private readonly ask: Ask) {
    super({ url: AskedHttp.ORIGIN, token: '' }, 'chat');
  }

  override async fetch(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const response = await this.ask(request.method, pathname + search, await request.text());
    request.signal.throwIfAborted();
    if (!response.ok) throw await refusal(response);
    return response;
  }
}

function base64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return btoa(binary);
}

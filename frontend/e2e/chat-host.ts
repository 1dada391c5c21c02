/** Runs in a browser: an AI app that shows the page of a tool's call, by the protocol's own half. */
import {
  AppBridge,
  PostMessageTransport,
  type McpUiHostContext,
} from '@modelcontextprotocol/ext-apps/app-bridge';

type Result = Parameters<AppBridge['sendToolResult']>[0];

export interface Shows {
  html: string;
  input: Record<string, unknown>;
  context: McpUiHostContext;
  /** Whether the page may call tools. */
  tools: boolean;
}

export interface ChatHost {
  show(what: Shows): Promise<void>;
  answer(result: Result): Promise<void>;
  change(context: McpUiHostContext): void;
  /** What the page asked the app for: links to open, files to save, room. */
  asked: { links: string[]; files: { name: string; base64: string }[]; modes: string[] };
}

declare global {
  interface Window {
    chatHost: ChatHost;
    /** Calls a tool of the server; the test gives it. */
    callTool(params: { name: string; arguments: object }): Promise<Result>;
  }
}

let bridge: AppBridge;

window.chatHost = {
  asked: { links: [], files: [], modes: [] },

  async show({ html, input, context, tools }) {
    const frame = document.createElement('iframe');
    frame.sandbox.add('allow-scripts');
    frame.title = 'Result';
    frame.style.cssText = 'border:0;width:100%;height:200px';
    document.body.replaceChildren(frame);
    const { asked } = this;
    bridge = new AppBridge(
      null,
      { name: 'Test host', version: '1' },
      { openLinks: {}, downloadFile: {}, ...(tools ? { serverTools: {} } : {}) },
      { hostContext: context },
    );
    bridge.oncalltool = async (params) => {
      if (!tools) throw new Error('This app lets no page call tools.');
      return window.callTool({ name: params.name, arguments: params.arguments ?? {} });
    };
    bridge.onopenlink = async ({ url }) => {
      asked.links.push(url);
      return {};
    };
    bridge.ondownloadfile = async ({ contents }) => {
      for (const one of contents) {
        if (one.type !== 'resource' || !('blob' in one.resource)) continue;
        asked.files.push({ name: one.resource.uri, base64: one.resource.blob });
      }
      return {};
    };
    bridge.onrequestdisplaymode = async ({ mode }) => {
      asked.modes.push(mode);
      return { mode };
    };
    bridge.onsizechange = ({ height }) => {
      if (height !== undefined) frame.style.height = `${height}px`;
    };
    const initialized = new Promise<void>((resolve) => (bridge.oninitialized = () => resolve()));
    const inside = frame.contentWindow;
    if (!inside) throw new Error('The frame has no window.');
    await bridge.connect(new PostMessageTransport(inside, inside));
    frame.srcdoc = html;
    await initialized;
    await bridge.sendToolInput({ arguments: input });
  },

  answer: (result) => bridge.sendToolResult(result),
  change: (context) => void bridge.sendHostContextChange(context),
};

/** Where the daemon is and how the page may speak to it: from the window's binding, or from the browser's address. */

export interface Connection {
  /** Without a slash at the end; empty for the origin that the page came from. */
  url: string;
  token: string;
}

/** What the desktop window offers to the page (app.Bridge in Go). */
interface Bridge {
  Connection(): Promise<Connection>;
}

declare global {
  interface Window {
    go?: { app?: { Bridge?: Bridge } };
  }
}

const TOKEN_KEY = 'forevervm.token';

/** Whether the page is shown in the desktop window and not in a browser. */
export function inWindow(): boolean {
  return bridge() !== undefined;
}

/** The name under which this page's instructions are recorded. */
export function clientName(): 'window' | 'browser' {
  return inWindow() ? 'window' : 'browser';
}

/**
 * Finds the connection, or null when the page has no token: the person then has to open it by `forevervm open`.
 * Throws when the window cannot reach or start the daemon; the message is meant for the person.
 */
export async function connect(): Promise<Connection | null> {
  const window = bridge();
  if (window) {
    try {
      return trimmed(await window.Connection());
    } catch (reason) {
      // Wails rejects with the Go error's text.
      throw reason instanceof Error ? reason : new Error(String(reason));
    }
  }
  const code = takeCode();
  if (code) {
    const token = await redeem(code);
    if (token) sessionStorage.setItem(TOKEN_KEY, token);
  }
  const token = sessionStorage.getItem(TOKEN_KEY);
  return token ? { url: '', token } : null;
}

/** Forgets a token that the daemon refused. */
export function forget(): void {
  sessionStorage.removeItem(TOKEN_KEY);
}

function bridge(): Bridge | undefined {
  return window.go?.app?.Bridge;
}

function trimmed({ url, token }: Connection): Connection {
  return { url: url.replace(/\/$/, ''), token };
}

/** Reads `#open=CODE` and takes it out of the address and the history. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('open');
  if (code !== null) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

/** Exchanges the code for the token; null when it is used up or too old. */
async function redeem(code: string): Promise<string | null> {
  const response = await fetch('/open', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  if (!response.ok) return null;
  const body = (await response.json()) as { token?: unknown };
  return typeof body.token === 'string' ? body.token : null;
}

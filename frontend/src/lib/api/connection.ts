/**
 * Where the daemon is and how the page may speak to it: from the window's binding, or from the
 * browser's address.
 */
import { words } from '$lib/words';
import { prove } from './proof';

export interface Connection {
  /** Without a slash at the end; empty for the origin that the page came from. */
  url: string;
  token: string;
}

/** What the desktop window offers to the page (app.Bridge in Go). */
interface Bridge {
  Connection(): Promise<Connection>;
  Speak(language: string): Promise<void>;
  Unseen(steps: Record<string, number>): Promise<void>;
  StartsAtLogin(): Promise<boolean>;
  StartAtLogin(on: boolean): Promise<void>;
  ChooseFolder(title: string): Promise<string>;
  SaveBegin(name: string): Promise<number>;
  SavePart(id: number, base64: string): Promise<void>;
  SaveEnd(id: number): Promise<string>;
  SaveCancel(id: number): Promise<void>;
}

declare global {
  interface Window {
    go?: { app?: { Bridge?: Bridge } };
  }
}

const TOKEN_KEY = 'forevervm.token';
/** The browser's token; what is stored of it is for a reload. */
let known: string | null = null;

/** Whether the page is shown in the desktop window and not in a browser. */
export function inWindow(): boolean {
  return bridge() !== undefined;
}

/** The name under which this page's instructions are recorded. */
export function clientName(): 'window' | 'browser' {
  return inWindow() ? 'window' : 'browser';
}

/**
 * Finds the connection, or null when the page has no token: the person then has to open it by
 * `forevervm open`. Who answers there has just proved to be the daemon; asked again whenever the
 * connection was lost, because its port may be anybody's then. Throws when the daemon cannot be
 * reached or started, or something else answers; the message is meant for the person.
 */
export async function connect(): Promise<Connection | null> {
  const window = bridge();
  if (window) {
    try {
      // The window has asked for the proof itself (backend/handshake).
      return trimmed(await window.Connection());
    } catch (reason) {
      // Wails rejects with the Go error's text.
      throw reason instanceof Error ? reason : new Error(String(reason));
    }
  }
  const code = takeCode();
  if (code) known = await redeem(code);
  known ??= sessionStorage.getItem(TOKEN_KEY);
  if (!known) return null;
  try {
    await prove(location.origin, known);
  } catch (reason) {
    // Anyone who takes the port can serve a page to the next reload, which could read what is
    // stored.
    sessionStorage.removeItem(TOKEN_KEY);
    throw reason;
  }
  sessionStorage.setItem(TOKEN_KEY, known);
  return { url: '', token: known };
}

/** Has the tray speak the page's language, too. */
export async function speakInTray(language: string): Promise<void> {
  await bridge()?.Speak(language);
}

/** Has the tray show how many steps of each machine are new, by the machine's ID. */
export async function showInTray(steps: Readonly<Record<string, number>>): Promise<void> {
  await bridge()?.Unseen(steps);
}

/** Whether the window's program is started when the person logs in; only in the window. */
export async function startsAtLogin(): Promise<boolean> {
  return (await bridge()?.StartsAtLogin()) ?? false;
}

/** Has the window's program started when the person logs in, or no longer. */
export async function startAtLogin(on: boolean): Promise<void> {
  await bridge()?.StartAtLogin(on);
}

/**
 * Has the person choose a folder, and returns its path; empty where they chose none. Only in the
 * window: a browser does not tell where a folder is.
 */
export async function chooseFolder(title: string): Promise<string> {
  return (await bridge()?.ChooseFolder(title)) ?? '';
}

/** How much of a file goes to the window at a time, in bytes. */
const PART = 3 << 18;

/**
 * Saves a file into the person's folder for downloads, and returns its path; only in the window,
 * whose web view does not save on its own.
 */
export async function saveInWindow(
  name: string,
  parts: Iterable<Blob> | AsyncIterable<Blob>,
): Promise<string> {
  const window = bridge();
  if (!window) throw new Error('There is no window.');
  const id = await window.SaveBegin(name);
  try {
    for await (const part of parts) {
      for (let from = 0; from < part.size; from += PART) {
        await window.SavePart(id, await base64(part.slice(from, from + PART)));
      }
    }
    return await window.SaveEnd(id);
  } catch (reason) {
    await window.SaveCancel(id).catch(() => undefined);
    throw reason;
  }
}

function base64(part: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''));
    reader.onerror = () => reject(reader.error ?? new Error(words.errors.unreadable));
    reader.readAsDataURL(part);
  });
}

/** Whether the last that was heard of the daemon is that it is ours. */
export function isProven(): boolean {
  return inWindow() || sessionStorage.getItem(TOKEN_KEY) !== null;
}

/** Forgets a token that the daemon refused. */
export function forget(): void {
  known = null;
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

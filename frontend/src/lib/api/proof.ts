/**
 * Makes sure that who answers at an address is the daemon before it is told the token:
 * backend/handshake with the page's means. A port that a killed daemon has left can be taken by
 * anybody on the computer.
 */
import { words } from '$lib/words';
import { Unreachable } from './errors';

/** Something answers, but does not know the token. */
export class Stranger extends Error {
  constructor() {
    super(words.stranger);
    this.name = 'Stranger';
  }
}

const NONCE_BYTES = 32;
const MAX_ANSWER = 16 << 10;
/** A daemon proves itself within this time, or is taken for none. */
const WITHIN_MS = 5_000;

/** Throws Unreachable or Stranger unless the daemon that knows the token answers at the origin. */
export async function prove(origin: string, token: string): Promise<void> {
  // A browser computes no digest for a page of another computer over plain HTTP, and a proof would
  // be worth nothing there: anyone who sits between can read what is sent.
  if (!('subtle' in crypto)) return;
  const nonce = hex(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)));
  let answer: string;
  try {
    const response = await fetch(`${origin}/health?nonce=${nonce}`, {
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.timeout(WITHIN_MS),
    });
    answer = await beginning(response);
  } catch {
    throw new Unreachable();
  }
  const key = await crypto.subtle.importKey(
    'raw',
    new TextEncoder().encode(token),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['verify'],
  );
  const said = new TextEncoder().encode(`${nonce} ${address(origin)}`);
  if (!(await crypto.subtle.verify('HMAC', key, proofIn(answer), said))) throw new Stranger();
}

/**
 * The address as the daemon sees it: it is in the proof, so that nobody can pass the question on to
 * the real one.
 */
function address(origin: string): string {
  const { hostname, port } = new URL(origin);
  return `${hostname === 'localhost' ? '127.0.0.1' : hostname}:${port || '80'}`;
}

/** What fits of an answer; who answers without an end is not waited for. */
async function beginning(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return '';
  const decoder = new TextDecoder();
  let text = '';
  while (text.length < MAX_ANSWER) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return '';
}

/** The proof in an answer, as bytes; empty, and so wrong, when there is none. */
function proofIn(answer: string): Uint8Array<ArrayBuffer> {
  let proof: unknown;
  try {
    proof = (JSON.parse(answer) as { proof?: unknown } | null)?.proof;
  } catch {
    // No daemon's answer.
  }
  if (typeof proof !== 'string' || !/^[0-9a-f]{64}$/.test(proof)) return new Uint8Array();
  return Uint8Array.from(proof.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function hex(raw: Uint8Array): string {
  return Array.from(raw, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

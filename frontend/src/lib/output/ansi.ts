/**
 * Reads terminal escapes out of text that a machine wrote. Colours and the few movements that
 * progress bars use are reported; everything else (titles, links, queries, device commands) is
 * swallowed.
 */

/** How a run of text looks. Colours are 0-15 for the palette, or a CSS `rgb()`. */
export interface Style {
  readonly fg?: number | string;
  readonly bg?: number | string;
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly italic?: boolean;
  readonly underline?: boolean;
  readonly strike?: boolean;
  readonly inverse?: boolean;
}

export const PLAIN: Style = {};

export interface AnsiHandler {
  /** Printable text, without control characters but tabs. */
  text(text: string): void;
  /** One of \n, \r, \b. */
  control(control: '\n' | '\r' | '\b'): void;
  style(style: Style): void;
  /** A cursor or erase command: the final letter of `ESC [ … letter` and its numbers. */
  command(letter: string, numbers: number[]): void;
}

/** An escape longer than this is not one; what follows is text again. */
const MAX_SEQUENCE = 256;

// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const SPECIAL = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;

type State = 'text' | 'escape' | 'csi' | 'string' | 'string-escape';

/** Keeps its state between writes: an escape may be cut anywhere. */
export class AnsiParser {
  private state: State = 'text';
  private sequence = '';
  private current: Style = PLAIN;

  constructor(private readonly handler: AnsiHandler) {}

  write(chunk: string): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.state !== 'text') {
        this.step(chunk.charAt(at));
        at += 1;
        continue;
      }
      SPECIAL.lastIndex = at;
      const found = SPECIAL.exec(chunk);
      const end = found ? found.index : chunk.length;
      if (end > at) this.handler.text(chunk.slice(at, end));
      if (!found) return;
      this.special(found[0]);
      at = end + 1;
    }
  }

  private special(character: string): void {
    switch (character) {
      case '\n':
      case '\r':
      case '\b':
        this.handler.control(character);
        break;
      case '\u001b':
        this.begin('escape');
        break;
      case '\u009b':
        this.begin('csi');
        break;
      case '\u0090':
      case '\u0098':
      case '\u009d':
      case '\u009e':
      case '\u009f':
        this.begin('string');
    }
  }

  private begin(state: State): void {
    this.state = state;
    this.sequence = '';
  }

  private step(character: string): void {
    switch (this.state) {
      case 'escape':
        if (character === '[') this.begin('csi');
        else if (']PX^_'.includes(character)) this.begin('string');
        else if (character >= ' ' && character <= '/')
          break; // an intermediate; the next one ends it
        else this.state = 'text';
        break;
      case 'csi':
        this.csi(character);
        break;
      case 'string':
        // Ended by BEL, by ST, or by a new line: a string that is never closed must not swallow
        // what follows.
        if (character === '\u0007' || character === '\u009c') this.state = 'text';
        else if (character === '\u001b') this.state = 'string-escape';
        else if (character === '\n') {
          this.state = 'text';
          this.handler.control('\n');
        }
        break;
      case 'string-escape':
        this.state = 'text';
        if (character !== '\\') {
          this.begin('escape');
          this.step(character);
        }
    }
  }

  private csi(character: string): void {
    if (character >= '@' && character <= '~') {
      this.state = 'text';
      const sequence = this.sequence;
      if (/[^0-9;:]/.test(sequence)) return; // private or malformed
      const numbers = sequence.split(/[;:]/).map((part) => Math.min(Number(part || '0'), 9999));
      if (character === 'm') this.select(numbers);
      else this.handler.command(character, numbers);
      return;
    }
    if (character < ' ' || character > '~' || this.sequence.length >= MAX_SEQUENCE) {
      this.state = 'text';
      this.write(character);
      return;
    }
    this.sequence += character;
  }

  private select(numbers: number[]): void {
    let style: Style = this.current;
    for (let i = 0; i < numbers.length; i += 1) {
      const n = numbers[i] ?? 0;
      if (n === 0) style = PLAIN;
      else if (n === 1) style = { ...style, bold: true };
      else if (n === 2) style = { ...style, dim: true };
      else if (n === 3) style = { ...style, italic: true };
      else if (n === 4) style = { ...style, underline: true };
      else if (n === 7) style = { ...style, inverse: true };
      else if (n === 9) style = { ...style, strike: true };
      else if (n === 22) style = without(style, 'bold', 'dim');
      else if (n === 23) style = without(style, 'italic');
      else if (n === 24) style = without(style, 'underline');
      else if (n === 27) style = without(style, 'inverse');
      else if (n === 29) style = without(style, 'strike');
      else if (n >= 30 && n <= 37) style = { ...style, fg: n - 30 };
      else if (n === 39) style = without(style, 'fg');
      else if (n >= 40 && n <= 47) style = { ...style, bg: n - 40 };
      else if (n === 49) style = without(style, 'bg');
      else if (n >= 90 && n <= 97) style = { ...style, fg: n - 82 };
      else if (n >= 100 && n <= 107) style = { ...style, bg: n - 92 };
      else if (n === 38 || n === 48) {
        const [colour, used] = extended(numbers, i + 1);
        if (colour !== undefined) style = { ...style, [n === 38 ? 'fg' : 'bg']: colour };
        i += used;
      }
    }
    this.current = style;
    this.handler.style(style);
  }
}

function without(style: Style, ...keys: (keyof Style)[]): Style {
  return Object.fromEntries(
    Object.entries(style).filter(([key]) => !keys.includes(key as keyof Style)),
  );
}

/** Reads `5;N` or `2;R;G;B`; returns the colour and how many numbers were used. */
function extended(numbers: number[], at: number): [number | string | undefined, number] {
  const number = (offset: number) => numbers[at + offset] ?? 0;
  if (number(0) === 5) return [indexed(number(1)), 2];
  if (number(0) === 2) return [rgb(number(1), number(2), number(3)), 4];
  return [undefined, 1];
}

/** The 256-colour table: 16 of the palette, a 6×6×6 cube, 24 greys. */
function indexed(n: number): number | string | undefined {
  if (n < 16) return n;
  if (n > 255) return undefined;
  if (n >= 232) {
    const grey = 8 + (n - 232) * 10;
    return rgb(grey, grey, grey);
  }
  const level = (value: number) => (value === 0 ? 0 : 55 + value * 40);
  const cube = n - 16;
  return rgb(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

function rgb(...parts: [number, number, number]): string {
  return `rgb(${parts.map((part) => Math.min(part, 255)).join(' ')})`;
}

import { AnsiParser, PLAIN, type AnsiHandler, type Style } from './ansi';

/** A run of text in one style. */
export interface Span {
  readonly text: string;
  readonly style: Style;
}

/** A line as it stands; replaced, never changed, when something is written over it. */
export interface Line {
  /** Its number among all lines ever written, the same for ever. */
  readonly n: number;
  readonly spans: readonly Span[];
  readonly length: number;
  /** Characters beyond MAX_COLUMNS, left out. */
  readonly cut: number;
}

/** What one instruction may keep in the page; the rest is fetched when asked for. */
const HEAD_LINES = 1_000;
const TAIL_LINES = 2_000;
const MAX_COLUMNS = 20_000;
/** How far up an escape may move: nested progress bars use a few lines. */
const SCREEN = 64;

/**
 * A stream's text as a terminal would show it: `\r` and backspace move, escapes colour and erase, lines scroll away
 * upwards. The first and the last lines are kept, what is between them is counted.
 */
export class TerminalText {
  /** Grows with every write; tells a view that it has to look again. */
  version = 0;
  /** Lines between `head` and `tail` that are no longer kept. */
  dropped = 0;

  private readonly head: Line[] = [];
  private tail: Line[] = [blank(0)];
  private nextNumber = 1;
  /** The cursor: a place in `tail`, and a column of UTF-16 units. */
  private row = 0;
  private column = 0;
  private style: Style = PLAIN;
  private readonly parser: AnsiParser;

  constructor() {
    const handler: AnsiHandler = {
      text: (text) => this.put(text),
      control: (control) => this.control(control),
      style: (style) => (this.style = style),
      command: (letter, numbers) => this.command(letter, numbers),
    };
    this.parser = new AnsiParser(handler);
  }

  write(text: string): void {
    this.parser.write(text);
    this.trim();
    this.version += 1;
  }

  /** Lines in all, the dropped ones too; an empty last line is none. */
  get count(): number {
    return this.head.length + this.dropped + this.shownTail();
  }

  /** The first and the last lines, at most so many of each, and how many lie between them. */
  ends(first: number, last: number): { head: Line[]; hidden: number; tail: Line[] } {
    const tailLength = this.shownTail();
    if (this.dropped === 0 && this.head.length + tailLength <= first + last) {
      return { head: [...this.head, ...this.tail.slice(0, tailLength)], hidden: 0, tail: [] };
    }
    const kept = [...this.head, ...this.tail.slice(0, tailLength)];
    const head = this.dropped === 0 ? kept.slice(0, first) : this.head.slice(0, first);
    const tail = kept.slice(Math.max(head.length, kept.length - last));
    return { head, hidden: this.count - head.length - tail.length, tail };
  }

  private shownTail(): number {
    const last = this.tail[this.tail.length - 1];
    return last && last.length === 0 ? this.tail.length - 1 : this.tail.length;
  }

  private put(text: string): void {
    const line = this.tail[this.row] ?? blank(0);
    const room = MAX_COLUMNS - this.column;
    const fits = text.slice(0, Math.max(room, 0));
    const cut = line.cut + text.length - fits.length;
    const spans =
      this.column >= line.length
        ? append(pad(line, this.column), fits, this.style)
        : append(slice(line.spans, 0, this.column), fits, this.style).concat(
            slice(line.spans, this.column + fits.length, line.length),
          );
    this.column += fits.length;
    this.tail[this.row] = { n: line.n, spans, length: Math.max(line.length, this.column), cut };
  }

  private control(control: '\n' | '\r' | '\b'): void {
    if (control === '\r') this.column = 0;
    else if (control === '\b') this.column = Math.max(0, this.column - 1);
    else {
      this.column = 0;
      this.down();
    }
  }

  private down(): void {
    this.row += 1;
    if (this.row === this.tail.length) {
      this.tail.push(blank(this.nextNumber));
      this.nextNumber += 1;
    }
  }

  private command(letter: string, numbers: number[]): void {
    const n = Math.max(numbers[0] ?? 0, 1);
    switch (letter) {
      case 'A':
      case 'F':
        this.row = Math.max(this.row - n, 0, this.tail.length - SCREEN);
        if (letter === 'F') this.column = 0;
        break;
      case 'B':
      case 'E':
        this.row = Math.min(this.row + n, this.tail.length - 1);
        if (letter === 'E') this.column = 0;
        break;
      case 'C':
        this.column = Math.min(this.column + n, MAX_COLUMNS);
        break;
      case 'D':
        this.column = Math.max(this.column - n, 0);
        break;
      case 'G':
        this.column = Math.min(n - 1, MAX_COLUMNS);
        break;
      case 'K':
        this.eraseLine(numbers[0] ?? 0);
        break;
      case 'J':
        if ((numbers[0] ?? 0) >= 2) this.clear();
        else this.eraseBelow();
    }
  }

  private eraseLine(mode: number): void {
    const line = this.tail[this.row];
    if (!line) return;
    if (mode === 0) {
      const length = Math.min(line.length, this.column);
      this.tail[this.row] = { n: line.n, spans: slice(line.spans, 0, length), length, cut: 0 };
    } else if (mode === 1) {
      const rest = slice(line.spans, this.column, line.length);
      const spans = [
        { text: ' '.repeat(Math.min(this.column, line.length)), style: PLAIN },
        ...rest,
      ];
      this.tail[this.row] = { ...line, spans };
    } else if (mode === 2) {
      this.tail[this.row] = blank(line.n);
    }
  }

  private eraseBelow(): void {
    this.eraseLine(0);
    this.tail.length = this.row + 1;
  }

  private clear(): void {
    this.head.length = 0;
    this.tail = [blank(this.nextNumber)];
    this.nextNumber += 1;
    this.dropped = 0;
    this.row = 0;
    this.column = 0;
  }

  /** Moves what no escape can reach any more to the head, and forgets the middle. Amortised over many writes. */
  private trim(): void {
    if (this.head.length < HEAD_LINES && this.tail.length > 2 * SCREEN) {
      const n = Math.min(HEAD_LINES - this.head.length, this.tail.length - SCREEN);
      this.head.push(...this.tail.splice(0, n));
      this.row -= n;
    }
    if (this.tail.length > 2 * TAIL_LINES) {
      const n = this.tail.length - TAIL_LINES;
      this.tail = this.tail.slice(n);
      this.row -= n;
      this.dropped += n;
    }
  }
}

/** Text that has ended, as lines: a traceback, a value. */
export function linesOf(text: string): TerminalText {
  const terminal = new TerminalText();
  terminal.write(text);
  return terminal;
}

function blank(n: number): Line {
  return { n, spans: [], length: 0, cut: 0 };
}

function pad(line: Line, column: number): readonly Span[] {
  const missing = column - line.length;
  return missing > 0 ? append(line.spans, ' '.repeat(missing), PLAIN) : line.spans;
}

function append(spans: readonly Span[], text: string, style: Style): Span[] {
  if (text === '') return [...spans];
  const last = spans[spans.length - 1];
  if (last && last.style === style) {
    return [...spans.slice(0, -1), { text: last.text + text, style }];
  }
  return [...spans, { text, style }];
}

/** The part of a line between two columns. */
function slice(spans: readonly Span[], from: number, to: number): Span[] {
  const part: Span[] = [];
  let at = 0;
  for (const span of spans) {
    const text = span.text.slice(Math.max(from - at, 0), Math.max(to - at, 0));
    if (text !== '') part.push({ text, style: span.style });
    at += span.text.length;
    if (at >= to) break;
  }
  return part;
}

import { AnsiParser, PLAIN, type AnsiHandler, type Style } from './ansi';

/** A run of text in one style. */
export interface Span {
  readonly text: string;
  readonly style: Style;
}

/** A line as it stood when it was asked for. */
export interface Line {
  /** Its number among all lines ever written, the same forever. */
  readonly n: number;
  readonly spans: readonly Span[];
  readonly length: number;
  /** Characters beyond MAX_COLUMNS, left out. */
  readonly cut: number;
}

/** A line that is still written to, in place; once a view has it, a copy is. */
interface Draft {
  readonly n: number;
  readonly spans: Span[];
  length: number;
  cut: number;
  /** How often lines had been asked for when it was made. */
  readonly made: number;
}

/** What one instruction may keep in the page; the rest is fetched when asked for. */
const HEAD_LINES = 1_000;
const TAIL_LINES = 2_000;
const MAX_COLUMNS = 20_000;
/** A line of more colour changes goes on plain. */
const MAX_SPANS = 500;
/** How far up an escape may move: nested progress bars use a few lines. */
const SCREEN = 64;

/**
 * A stream's text as a terminal would show it: `\r` and backspace move, escapes colour and erase,
 * lines scroll away upwards. The first and the last lines are kept, what is between them is
 * counted.
 */
export class TerminalText {
  /** Grows with every write; tells a view that it has to look again. */
  version = 0;
  /** Lines between `head` and `tail` that are no longer kept. */
  dropped = 0;

  private readonly head: Draft[] = [];
  private tail: Draft[];
  private nextNumber = 0;
  private asked = 0;
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
    this.tail = [this.blank()];
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
    this.asked += 1;
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
    const line = this.draft();
    const fits = text.slice(0, Math.max(MAX_COLUMNS - this.column, 0));
    line.cut += text.length - fits.length;
    if (fits === '') return;
    if (this.column > line.length) append(line, ' '.repeat(this.column - line.length), PLAIN);
    if (this.column === line.length) append(line, fits, this.style);
    else overwrite(line, this.column, fits, this.style);
    this.column += fits.length;
  }

  /** The line that the cursor is on, to be changed. */
  private draft(): Draft {
    let line = this.tail[this.row] ?? this.blank();
    if (line.made !== this.asked) line = { ...line, spans: [...line.spans], made: this.asked };
    this.tail[this.row] = line;
    return line;
  }

  private blank(n = this.nextNumber++): Draft {
    return { n, spans: [], length: 0, cut: 0, made: this.asked };
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
      this.tail.push(this.blank());
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
    const line = this.draft();
    if (mode === 0) {
      truncate(line, this.column);
      line.cut = 0;
    } else if (mode === 1) {
      const erased = Math.min(this.column, line.length);
      if (erased > 0) overwrite(line, 0, ' '.repeat(erased), PLAIN);
    } else if (mode === 2) {
      this.tail[this.row] = this.blank(line.n);
    }
  }

  private eraseBelow(): void {
    this.eraseLine(0);
    this.tail.length = this.row + 1;
  }

  private clear(): void {
    this.head.length = 0;
    this.tail = [this.blank()];
    this.dropped = 0;
    this.row = 0;
    this.column = 0;
  }

  /**
   * Moves what no escape can reach any more to the head, and forgets the middle. Amortised over
   * many writes.
   */
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

/**
 * A line as a view draws it: no more of it than `columns`, and in its colours where that takes no
 * more than `spans` elements.
 */
export function clip(line: Line, columns: number, spans: number): Line {
  if (line.length <= columns && line.spans.length <= spans) return line;
  const shown = { ...line, spans: [...line.spans] };
  truncate(shown, columns);
  if (shown.spans.length > spans) flatten(shown);
  return { ...shown, cut: line.cut + line.length - shown.length };
}

/**
 * What of a line the functions below change, all in place: hostile output changes one line a
 * million times.
 */
type Text = Pick<Draft, 'spans' | 'length'>;

function append(line: Text, text: string, style: Style): void {
  const { spans } = line;
  const last = spans[spans.length - 1];
  const look = spans.length < MAX_SPANS ? style : PLAIN;
  if (last?.style === look) spans[spans.length - 1] = { text: last.text + text, style: look };
  else spans.push({ text, style: look });
  line.length += text.length;
}

/** Writes text from a column within the line on. */
function overwrite(line: Text, column: number, text: string, style: Style): void {
  if (line.spans.length >= MAX_SPANS) flatten(line);
  const { spans } = line;
  const end = column + text.length;
  let first = 0;
  let from = 0; // the column where `first` begins
  for (let span = spans[0]; span && from + span.text.length <= column; span = spans[first]) {
    from += span.text.length;
    first += 1;
  }
  const before = spans[first]?.text.slice(0, column - from) ?? '';
  const written: Span[] = [{ text, style }];
  if (before !== '') written.unshift({ text: before, style: spans[first]?.style ?? PLAIN });
  let last = first;
  for (let span = spans[last]; span && from < end; span = spans[last]) {
    const rest = span.text.slice(Math.max(end - from, 0));
    if (rest !== '') written.push({ text: rest, style: span.style });
    from += span.text.length;
    last += 1;
  }
  spans.splice(first, last - first, ...written);
  line.length = Math.max(line.length, end);
}

function truncate(line: Text, length: number): void {
  const { spans } = line;
  while (line.length > length) {
    const last = spans.pop();
    if (!last) break;
    line.length -= last.text.length;
    if (line.length >= length) continue;
    spans.push({ text: last.text.slice(0, length - line.length), style: last.style });
    line.length = length;
  }
}

function flatten(line: Text): void {
  const text = line.spans.map((span) => span.text).join('');
  line.spans.splice(0, line.spans.length, { text, style: PLAIN });
}

import { describe, expect, it } from 'vitest';
import { clip, linesOf, TerminalText, type Line } from './terminal';

const ESC = '\u001b';

function plain(lines: readonly Line[]): string[] {
  return lines.map(({ spans }) => spans.map(({ text }) => text).join(''));
}

function all(terminal: TerminalText): string[] {
  const { head, hidden, tail } = terminal.ends(10_000, 10_000);
  expect(hidden).toBe(terminal.dropped);
  return plain([...head, ...tail]);
}

describe('lines', () => {
  it('shows text as it was printed; a last line break opens no line', () => {
    expect(all(linesOf('a\n\nb\n'))).toEqual(['a', '', 'b']);
    expect(all(linesOf(''))).toEqual([]);
    expect(linesOf('a\nb').count).toBe(2);
  });

  it('puts a text together however it was cut', () => {
    const text = `one\r\ntwo${ESC}[31mred${ESC}[0m\rT\nlast`;
    const whole = all(linesOf(text));
    for (let cut = 1; cut < text.length; cut += 1) {
      const terminal = new TerminalText();
      terminal.write(text.slice(0, cut));
      terminal.write(text.slice(cut));
      expect(all(terminal)).toEqual(whole);
    }
  });

  it('lets a carriage return write over the line', () => {
    expect(all(linesOf(' 10%\r 20%\r100%\ndone'))).toEqual(['100%', 'done']);
    expect(all(linesOf('abcdef\rXY'))).toEqual(['XYcdef']);
    expect(all(linesOf('abc\b\bX'))).toEqual(['aXc']);
    expect(all(linesOf('no\r\nwindows\r\n'))).toEqual(['no', 'windows']);
  });

  it('writes over colours piece by piece', () => {
    const pieces = (text: string) =>
      linesOf(text)
        .ends(1, 1)
        .head[0]?.spans.map(({ text, style }) => `${text}${style.fg ?? ''}`);
    const line = `${ESC}[31mabc${ESC}[32mdef${ESC}[33mghi`;
    expect(pieces(`${line}\r${ESC}[34mXY`)).toEqual(['XY4', 'c1', 'def2', 'ghi3']);
    expect(pieces(`${line}${ESC}[5G${ESC}[34mXYZ`)).toEqual(['abc1', 'd2', 'XYZ4', 'hi3']);
    expect(pieces(`${line}${ESC}[9G${ESC}[34mXYZ`)).toEqual(['abc1', 'def2', 'gh3', 'XYZ4']);
    expect(pieces(`${line}${ESC}[5G${ESC}[K`)).toEqual(['abc1', 'd2']);
    expect(pieces(`${line}${ESC}[5G${ESC}[1K`)).toEqual(['    ', 'ef2', 'ghi3']);
    expect(pieces(`${ESC}[31mab${ESC}[6G${ESC}[32mc`)).toEqual(['ab1', '   ', 'c2']);
  });

  it('leaves a line alone that a view has', () => {
    const terminal = linesOf('ab');
    const before = terminal.ends(1, 1).head;
    terminal.write(`c\rX${ESC}[K`);
    expect(plain(before)).toEqual(['ab']);
    expect(all(terminal)).toEqual(['X']);
  });

  it('follows what nested progress bars do: up a line, erase, write again', () => {
    expect(all(linesOf(`outer 1\ninner 1${ESC}[A\router 2\n\rinner 2`))).toEqual([
      'outer 2',
      'inner 2',
    ]);
    expect(all(linesOf(`long line\r${ESC}[Kx`))).toEqual(['x']);
    expect(all(linesOf(`gone${ESC}[2K\rnew`))).toEqual(['new']);
    expect(all(linesOf(`gone\ngone${ESC}[2J${ESC}[Hfresh`))).toEqual(['fresh']);
  });

  it('does not move above what can still change, nor beyond any bound', () => {
    expect(all(linesOf(`a\nb${ESC}[9999A\rX`))).toEqual(['X', 'b']);
    expect(all(linesOf(`${ESC}[9999Cx`))[0]?.length).toBeLessThanOrEqual(10_000);
  });
});

describe('styles', () => {
  it('keeps colours over lines until they are reset', () => {
    const { head } = linesOf(`${ESC}[1;31mbad\nworse${ESC}[0m fine`).ends(10, 10);
    expect(head[0]?.spans).toEqual([{ text: 'bad', style: { bold: true, fg: 1 } }]);
    expect(head[1]?.spans.map(({ style }) => style)).toEqual([{ bold: true, fg: 1 }, {}]);
  });

  it('reads bright, indexed and true colours, and takes attributes off one by one', () => {
    const style = (sequence: string) =>
      linesOf(`${ESC}[${sequence}mx`).ends(1, 1).head[0]?.spans[0]?.style;
    expect(style('92')).toEqual({ fg: 10 });
    expect(style('48;5;9')).toEqual({ bg: 9 });
    expect(style('38;5;196')).toEqual({ fg: 'rgb(255 0 0)' });
    expect(style('38;5;244')).toEqual({ fg: 'rgb(128 128 128)' });
    expect(style('38;2;1;2;999')).toEqual({ fg: 'rgb(1 2 255)' });
    expect(style('1;4;31;22;39')).toEqual({ underline: true });
    expect(style('')).toEqual({});
  });
});

describe('hostile text', () => {
  it('swallows escapes that are no colours, cut or whole', () => {
    const text = [
      `${ESC}]0;title\u0007a`,
      `${ESC}]8;;http://example.org${ESC}\\b${ESC}]8;;${ESC}\\`,
      `${ESC}P1;2q data${ESC}\\c`,
      `${ESC}[?25ld${ESC}[>4;1me`,
      `${ESC}(Bf\u0000\u0007g`,
    ].join('');
    expect(all(linesOf(text))).toEqual(['abcdefg']);
  });

  it('does not let an escape that never ends swallow what follows', () => {
    expect(all(linesOf(`${ESC}]0;never closed\nvisible`))).toEqual(['', 'visible']);
    expect(all(linesOf(`${ESC}[${'1;'.repeat(500)}\nvisible`)).at(-1)).toBe('visible');
  });

  it('draws no more pieces of a line than it can bear, however often the colour changes', () => {
    const [line] = linesOf(`${ESC}[31ma${ESC}[32mb`.repeat(100_000)).ends(1, 1).head;
    expect(line?.spans.length).toBeLessThanOrEqual(501);
    expect(line?.spans[1]).toEqual({ text: 'b', style: { fg: 2 } });
    expect(plain(line ? [line] : [])[0]).toBe('ab'.repeat(10_000));
    expect(line?.length).toBe(20_000);
    expect(line?.cut).toBe(180_000);
    // Written over in ever other colours, and erased.
    const back = `${'x'.repeat(2_000)}${`\b\b${ESC}[31mc${ESC}[2D${ESC}[32md`.repeat(100_000)}`;
    expect(linesOf(back).ends(1, 1).head[0]?.spans.length).toBeLessThanOrEqual(501);
  });

  it('is drawn within a number of pieces', () => {
    const { head } = linesOf(`${ESC}[31mab${ESC}[32mcd\nplain`).ends(2, 2);
    const [coloured, other] = head;
    if (!coloured || !other) throw new Error('Lines are missing.');
    expect(clip(coloured, 10, 2)).toBe(coloured);
    expect(clip(coloured, 3, 2)).toMatchObject({
      spans: [
        { text: 'ab', style: { fg: 1 } },
        { text: 'c', style: { fg: 2 } },
      ],
      cut: 1,
    });
    expect(clip(coloured, 10, 1)).toMatchObject({ spans: [{ text: 'abcd', style: {} }], cut: 0 });
    expect(clip(other, 2, 1)).toMatchObject({ spans: [{ text: 'pl' }], length: 2, cut: 3 });
    expect(plain([coloured])).toEqual(['abcd']);
  });

  it('bounds a line', () => {
    const [line] = linesOf('x'.repeat(1_000_000)).ends(1, 1).head;
    expect(line?.length).toBe(20_000);
    expect(line?.cut).toBe(980_000);
  });

  it('keeps the first and the last of a million lines, and says how many are between', () => {
    const terminal = new TerminalText();
    for (let i = 0; i < 1_000; i += 1) {
      terminal.write(Array.from({ length: 1_000 }, (_, k) => `${i * 1_000 + k}\n`).join(''));
    }
    expect(terminal.count).toBe(1_000_000);
    const { head, hidden, tail } = terminal.ends(3, 2);
    expect(plain(head)).toEqual(['0', '1', '2']);
    expect(plain(tail)).toEqual(['999998', '999999']);
    expect(hidden).toBe(999_995);
    expect(head.length + tail.length + hidden).toBe(terminal.count);
    const kept = terminal.ends(5_000, 5_000);
    expect(kept.head.length + kept.tail.length).toBeLessThan(6_000);
  });

  it('gives every line a number of its own, forever', () => {
    const terminal = linesOf('a\nb\n');
    const before = terminal.ends(10, 10).head.map(({ n }) => n);
    terminal.write('c\n'.repeat(300));
    const after = terminal.ends(10, 10).head.map(({ n }) => n);
    expect(after.slice(0, 2)).toEqual(before);
    expect(new Set(after).size).toBe(after.length);
  });
});

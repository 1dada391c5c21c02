import { describe, expect, it } from 'vitest';
import { codePoints, utf16 } from '$lib/codepoints';
import { formatTags, parseTags, tagChange } from '$lib/tags';
import { mergeBySeq } from '$lib/state/merge';
import { matches } from '$lib/state/search';
import { author, outcome } from '$lib/words';
import type { Instruction } from '$lib/api/types';
import { highlight } from './highlight';
import { plainLines } from './plain';
import { choose } from './rich';

const form = (mime: string) => ({ mime, size: 1, href: `/api/${mime}` });
const chosen = (...mimes: string[]) => choose(mimes.map(form))?.kind ?? null;

describe('choose', () => {
  it('takes the richest form that the page can show', () => {
    expect(chosen('text/plain', 'text/html')).toBe('html');
    expect(chosen('image/png', 'image/svg+xml')).toBe('svg');
    expect(chosen('text/markdown', 'text/plain')).toBe('markdown');
    expect(chosen('application/geo+json')).toBe('json');
    expect(chosen('application/x-unknown')).toBeNull();
  });

  it('takes the data of an interactive figure for what it is', () => {
    expect(chosen('text/html', 'application/vnd.plotly.v1+json', 'image/png')).toBe('figure');
    expect(chosen('application/vnd.vegalite.v5+json', 'text/plain')).toBe('interactive');
    expect(chosen('application/vnd.ms-excel')).toBeNull();
  });

  it("prefers a chart's picture to HTML that would load scripts from elsewhere", () => {
    expect(chosen('application/vnd.bokehjs.v0+json', 'text/html', 'image/png')).toBe('image');
  });
});

describe('highlight', () => {
  it('loses no character of the code', () => {
    const code = 'def f(x):\n    """doc"""\n    return x + 1  # é 🎉\n%pip install x\n!ls\n';
    expect(
      highlight(code)
        .map(({ text }) => text)
        .join(''),
    ).toBe(code);
  });

  it('shows characters that would make code read as other code', () => {
    const pieces = highlight('if admin:\u202e \u2066# never\u2069\u200b');
    const invisible = pieces.filter(({ kind }) => kind === 'invisible').map(({ text }) => text);
    expect(invisible).toEqual(['U+202E', 'U+2066', 'U+2069', 'U+200B']);
    expect(pieces.some(({ text }) => /[\u200b-\u2069]/.test(text))).toBe(false);
  });
});

describe('plainLines', () => {
  it('takes escapes out and keeps the last state of a rewritten line', () => {
    expect(plainLines('\u001b[31mred\u001b[0m\n1%\r2%\r\nend\u001b]0;x\u0007')).toEqual([
      'red',
      '2%',
      'end',
    ]);
    expect(plainLines('')).toEqual([]);
  });
});

describe('code points', () => {
  it('converts both ways around characters of two units', () => {
    const text = 'a🎉b';
    expect(codePoints(text, 3)).toBe(2);
    expect(utf16(text, 2)).toBe(3);
    expect(utf16(text, 99)).toBe(4);
  });
});

describe('tags', () => {
  it('reads what it writes', () => {
    const tags = { project: 'sales', note: 'a=b', urgent: '' };
    expect(parseTags(formatTags(tags))).toEqual(tags);
    expect(formatTags({ urgent: '' })).toBe('urgent');
    expect(() => parseTags('ok\n\n=no')).toThrow('=no');
  });

  it('sends only what changed, null for what is gone', () => {
    expect(tagChange({ a: '1', b: '2' }, { b: '3', c: '4' })).toEqual({ a: null, b: '3', c: '4' });
    expect(tagChange({ a: '1' }, { a: '1' })).toEqual({});
  });
});

describe('mergeBySeq', () => {
  it('merges in order, the second list winning', () => {
    const item = (seq: number, from: string) => ({ seq, from });
    const merged = mergeBySeq(
      [item(1, 'a'), item(2, 'a'), item(5, 'a')],
      [item(2, 'b'), item(3, 'b'), item(9, 'b')],
    );
    expect(merged.map(({ seq, from }) => `${seq}${from}`)).toEqual(['1a', '2b', '3b', '5a', '9b']);
  });
});

describe('matches', () => {
  it('finds every word in name, title or tags, in any case', () => {
    const machine = { name: 'brave-otter-42', title: 'Quarterly sales', tags: { team: 'Finance' } };
    expect(matches(machine, 'SALES otter')).toBe(true);
    expect(matches(machine, 'team=fin')).toBe(true);
    expect(matches(machine, 'sales tax')).toBe(false);
    expect(matches(machine, '')).toBe(true);
  });
});

describe('words', () => {
  it('names who ran a step', () => {
    expect(author({ name: 'browser' })).toBe('You');
    expect(author({ name: 'forevervm-sdk python' })).toBe('Python program');
    expect(author({ name: 'forevervm-sdk rust (cargo)' })).toBe('Rust program');
    expect(author({ name: 'Claude Desktop' })).toBe('Claude Desktop');
  });

  it('says how a step ended', () => {
    const step = (status: Instruction['status'], error_name = '') =>
      outcome({ status, error_name } as Instruction);
    expect(step('ok')).toBeNull();
    expect(step('error', 'KeyError')).toBe('Failed');
    expect(step('error', 'KeyboardInterrupt')).toBe('Stopped');
  });
});

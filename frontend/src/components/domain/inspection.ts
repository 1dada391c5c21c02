import { indentLess } from '@codemirror/commands';
import { Prec, StateEffect, StateField, type Extension } from '@codemirror/state';
import {
  closeHoverTooltips,
  EditorView,
  hasHoverTooltips,
  hoverTooltip,
  keymap,
  showTooltip,
  type Tooltip,
} from '@codemirror/view';
import { isBusy, sentence } from '$lib/api/errors';
import type { Inspection } from '$lib/api/types';
import { codePoints } from '$lib/codepoints';
import { plainLines } from '$lib/output/plain';
import { words } from '$lib/words';

export interface Inspector {
  /** What the machine knows of the name at a cursor, in code points. */
  inspect(code: string, cursor: number, signal: AbortSignal): Promise<Inspection>;
  /** Whether it can be asked by the way, without waking the machine. */
  awake(): boolean;
}

/** So much of a text is shown, and so much of it read out, in characters. */
const MOST = { shown: 10_000, read: 500 };
const HOVER_MS = 400;

const show = StateEffect.define<Tooltip | null>();

const shown = StateField.define<Tooltip | null>({
  create: () => null,
  update(tooltip, { effects, docChanged, selection }) {
    for (const effect of effects) if (effect.is(show)) return effect.value;
    return docChanged || selection ? null : tooltip;
  },
  provide: (field) => showTooltip.from(field),
});

/**
 * Tells what a name is: at the cursor by Shift+Tab, which a second time leads into what is told,
 * and under the mouse. Escape closes it.
 */
export function inspection(inspector: Inspector): Extension {
  let asked = new AbortController();

  async function ask(view: EditorView): Promise<void> {
    asked.abort();
    asked = new AbortController();
    const { signal } = asked;
    const { doc, selection } = view.state;
    const { head } = selection.main;
    let text: string;
    try {
      const code = doc.toString();
      const found = await inspector.inspect(code, codePoints(code, head), signal);
      text = found.found ? readable(found.text) : words.editor.unknown;
    } catch (reason) {
      if (signal.aborted) return;
      if (isBusy(reason)) text = words.editor.busy;
      else text = sentence(reason);
    }
    if (view.state.doc !== doc || view.state.selection.main.head !== head) return;
    const tooltip = { pos: head, above: true, create: () => ({ dom: card(view, text) }) };
    view.dispatch({
      effects: [show.of(tooltip), EditorView.announce.of(text.slice(0, MOST.read))],
    });
  }

  const keys = keymap.of([
    {
      key: 'Shift-Tab',
      run: (view) => {
        const { doc, selection } = view.state;
        const { from, empty } = selection.main;
        if (doc.length === 0) return false; // leads out of the editor, as everywhere
        const line = doc.lineAt(from);
        if (!empty || doc.sliceString(line.from, from).trim() === '') return indentLess(view);
        if (view.state.field(shown)) view.dom.querySelector<HTMLElement>('.inspection')?.focus();
        else void ask(view);
        return true;
      },
    },
    { key: 'Escape', run: close },
  ]);

  const hover = hoverTooltip(
    async (view, pos) => {
      const word = view.state.wordAt(pos);
      if (!word || !inspector.awake()) return null;
      const code = view.state.doc.toString();
      const at = codePoints(code, pos);
      const found = await inspector
        .inspect(code, at, new AbortController().signal)
        .catch(() => null); // nobody has asked
      if (!found?.found) return null;
      const text = readable(found.text);
      return { pos: word.from, above: true, create: () => ({ dom: card(view, text) }) };
    },
    { hoverTime: HOVER_MS, hideOnChange: true },
  );

  const away = EditorView.domEventObservers({
    blur: ({ relatedTarget }, view) => leave(view, relatedTarget),
  });

  return [shown, hover, away, Prec.high(keys)];
}

/** Closes it when the keyboard goes elsewhere. */
function leave(view: EditorView, to: EventTarget | null): void {
  if (!(to instanceof Node && view.dom.contains(to))) close(view);
}

function close(view: EditorView): boolean {
  if (!view.state.field(shown) && !hasHoverTooltips(view.state)) return false;
  view.dispatch({ effects: [show.of(null), closeHoverTooltips] });
  return true;
}

/** Text of a machine's: no escapes, and no more than can be drawn at once. */
function readable(text: string): string {
  const plain = plainLines(text.slice(0, MOST.shown)).join('\n');
  return text.length > MOST.shown ? `${plain} …` : plain;
}

function card(view: EditorView, text: string): HTMLElement {
  const dom = document.createElement('div');
  dom.className = 'inspection';
  dom.setAttribute('role', 'tooltip');
  dom.tabIndex = 0; // long ones are scrolled through by keys
  const [first = '', ...rest] = text.split('\n');
  const heading = document.createElement('strong');
  heading.textContent = first;
  dom.append(heading, `\n${rest.join('\n')}`);
  dom.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    view.focus();
    close(view);
  });
  dom.addEventListener('focusout', ({ relatedTarget }) => leave(view, relatedTarget));
  return dom;
}

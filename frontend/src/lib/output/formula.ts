/**
 * What stands between marks of TeX's: `$$…$$` and `\[…\]` on lines of their own, `$…$` and `\(…\)`
 * within one; environments need no marks.
 */
const FORMULA =
  /\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\]|\\\(([\s\S]+?)\\\)|\$((?:\\.|[^$\\])+?)\$|(\\begin\{([a-zA-Z]+\*?)\}[\s\S]+?\\end\{\6\})/g;

/**
 * Formulas beyond it, in characters, are shown as they are written: drawing them takes the browser
 * longer than anybody waits.
 */
const MAX_LENGTH = 20_000;

/**
 * So are those that define commands of their own, which a few characters make as long as they want.
 */
const DEFINES =
  /\\(?:[egx]?def|(?:future)?let|(?:re)?newcommand|providecommand|DeclareMathOperator)/;

/**
 * HTML of text with formulas, as `_repr_latex_` gives it: the formulas as MathML, which browsers
 * draw on their own; null where they could hold up the page. It has come from a machine, and is as
 * hostile as other HTML of one (see frame.ts).
 */
export async function latexHtml(text: string): Promise<string | null> {
  if (text.length > MAX_LENGTH || DEFINES.test(text)) return null;
  const draw = await drawing();
  let html = '';
  let done = 0;
  for (const found of text.matchAll(FORMULA)) {
    const [whole, dollars, brackets, parentheses, dollar, environment] = found;
    html += escaped(text.slice(done, found.index));
    const own = dollars ?? brackets ?? environment;
    // What sympy puts between single dollars is meant to be large, and says so.
    html += draw(own ?? parentheses ?? dollar ?? '', own !== undefined || whole === text.trim());
    done = found.index + whole.length;
  }
  return done === 0 ? draw(text, true) : html + escaped(text.slice(done));
}

async function drawing(): Promise<(tex: string, display: boolean) => string> {
  const { default: temml } = await import('temml');
  return (tex, displayMode) => {
    try {
      return temml.renderToString(tex, { displayMode, throwOnError: false, maxSize: [20, 200] });
    } catch {
      return `<code>${escaped(tex)}</code>`; // nested too deep for its parser
    }
  };
}

function escaped(text: string): string {
  return text
    .replace(/[&<>$]/g, (c) => `&#${c.charCodeAt(0)};`)
    .replaceAll('\\&#36;', '&#36;')
    .replaceAll('\n\n', '<p>');
}

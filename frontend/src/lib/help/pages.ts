import { marked, Renderer, type Token, type Tokens } from 'marked';
import guide from '../../../../docs/guide.md?raw';
import glossary from '../../../../docs/glossary.md?raw';
import hosted from '../../../../docs/hosted.md?raw';
import install from '../../../../docs/install.md?raw';
import mcp from '../../../../docs/mcp.md?raw';
import security from '../../../../docs/security.md?raw';
import status from '../../../../docs/status.md?raw';
import troubleshooting from '../../../../docs/troubleshooting.md?raw';
import { addressOf, PAGE_NAMES, type PageName, type Place } from './places';

/** A heading of a document and what stands under it, up to the next heading. */
export interface Section {
  /** As links name it. */
  readonly id: string;
  readonly title: string;
  /** 1 is the document's own heading. */
  readonly depth: number;
  /** Its Markdown in small letters, to be searched. */
  readonly text: string;
}

/** A document as the window shows it. */
export interface Page {
  readonly name: PageName;
  readonly title: string;
  readonly sections: readonly Section[];
  /**
   * Its HTML. A link to another place is `#/help/PAGE/SECTION`. A link to what the window does not
   * have is plain text, followed by the address if it is on the web.
   */
  readonly html: string;
}

const sources: Readonly<Record<PageName, string>> = {
  guide,
  troubleshooting,
  mcp,
  security,
  install,
  hosted,
  status,
  glossary,
};

export const pages: readonly Page[] = PAGE_NAMES.map(read);

/** The page of a place. */
export const pageOf = ({ page }: Place): Page => {
  const found = pages.find(({ name }) => name === page);
  if (!found) throw new Error(`there is no page ${page}`);
  return found;
};

/** The sections that have every word of a query; all sections for an empty one. */
export function matching(page: Page, query: string): readonly Section[] {
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  return page.sections.filter(({ text }) => wanted.every((word) => text.includes(word)));
}

/** The place that a link in a page leads to, or null for one that leads out of the window. */
export function destination(from: PageName, href: string): Place | null {
  const [file = '', section] = href.split('#');
  const page = file === '' ? from : PAGE_NAMES.find((name) => file === `${name}.md`);
  if (!page) return null;
  return section === undefined ? { page } : { page, section };
}

/** A heading's name in links, as GitHub makes it. */
function slug(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

function read(name: PageName): Page {
  const tokens = marked.lexer(sources[name], { gfm: true });
  const sections: { id: string; title: string; depth: number; text: string }[] = [];
  for (const token of tokens) {
    if (isHeading(token)) {
      const title = plain(token.text);
      sections.push({ id: slug(title), title, depth: token.depth, text: '' });
    }
    const last = sections.at(-1);
    if (last) last.text += token.raw.toLowerCase();
  }
  return {
    name,
    title: titleOf(name),
    sections,
    html: marked.parser(tokens, { renderer: rendererOf(name) }),
  };
}

function isHeading(token: Token): token is Tokens.Heading {
  return token.type === 'heading';
}

/** A heading without the marks of Markdown. */
function plain(text: string): string {
  return text.replace(/[`*]/g, '');
}

function titleOf(name: PageName): string {
  return /^# (.*)$/m.exec(sources[name])?.[1] ?? name;
}

function rendererOf(name: PageName): Renderer {
  const renderer = new Renderer();
  renderer.heading = function ({ tokens, text, depth }) {
    const id = `help-${slug(plain(text))}`;
    return `<h${depth} id="${id}" tabindex="-1">${this.parser.parseInline(tokens)}</h${depth}>\n`;
  };
  renderer.link = function ({ href, tokens }) {
    const text = this.parser.parseInline(tokens);
    const place = destination(name, href);
    if (place) {
      const title = text === `${place.page}.md` ? titleOf(place.page) : text;
      return `<a href="${addressOf(place)}">${title}</a>`;
    }
    return /^https?:/.test(href) && !text.includes(href) ? `${text} (<code>${href}</code>)` : text;
  };
  renderer.tablecell = function (cell) {
    // A corner without a heading is none.
    const kind = cell.header && cell.text !== '' ? 'th' : 'td';
    return `<${kind}>${this.parser.parseInline(cell.tokens)}</${kind}>\n`;
  };
  renderer.image = () => ''; // they show the window that is open, and installers
  return renderer;
}

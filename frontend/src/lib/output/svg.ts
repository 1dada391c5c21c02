/** More than any plot has: browsers draw these in a second. */
const MAX_PARTS = 50_000;
/** A filter looks at each pixel again and again. */
const FILTER_COST = 100;

/**
 * Whether a browser draws an SVG without holding up the page. A part that others refer to is drawn
 * for each of them: ten levels of ten references are 1 KB, and ten billion parts.
 */
export function drawable(svg: string): boolean {
  if (/data:image\/svg/i.test(svg)) return false; // a drawing in the drawing is not looked into
  const root = new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement;
  const named = new Map([...root.querySelectorAll('[id]')].map((part) => [part.id, part]));
  const rules = [...root.querySelectorAll('style')].map((style) => style.textContent).join('\n');
  const costs = new Map<Element, number>();

  /** How many parts are drawn for this one. */
  function cost(part: Element, everywhere: number): number {
    const known = costs.get(part);
    if (known !== undefined) return known;
    costs.set(part, 0); // one that leads back to itself is not drawn
    let sum = (part.localName.startsWith('fe') ? FILTER_COST : 1) + everywhere;
    for (const { name, value } of part.attributes) {
      const times = name.startsWith('marker') || /marker/.test(value) ? points(part) : 1;
      for (const id of references(value)) {
        const target = named.get(id);
        if (target) sum += times * cost(target, everywhere);
      }
    }
    for (const child of part.children) {
      sum += cost(child, everywhere);
      if (sum > MAX_PARTS) break;
    }
    costs.set(part, sum);
    return sum;
  }

  // Which parts a rule is for is not read: it counts for each.
  try {
    let everywhere = 0;
    for (const id of references(rules)) {
      const target = named.get(id);
      if (target) everywhere += cost(target, 0);
    }
    costs.clear();
    return cost(root, everywhere) <= MAX_PARTS;
  } catch {
    return false; // it is nested too deeply to be looked through
  }
}

/** The names in "#name" and "url(#name)". */
function references(value: string): string[] {
  return [...value.matchAll(/(?:^|\()\s*["']?#([^\s"')]+)/g)].map(([, id = '']) => id);
}

/** About how many corners a line has: each may have a marker. */
function points(part: Element): number {
  const line = `${part.getAttribute('d') ?? ''} ${part.getAttribute('points') ?? ''}`;
  return Math.max(1, line.split(/[\s,]+/).length);
}

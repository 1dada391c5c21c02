/** Tags as people write them: one a line, a word alone or `key=value`. */
import { words } from './words';

export const tagText = ([key, value]: readonly [string, string]): string =>
  value === '' ? key : `${key}=${value}`;

export const formatTags = (tags: Record<string, string>): string =>
  Object.entries(tags).map(tagText).join('\n');

/** The tags; throws, for the person, what is wrong with the first line that is none. */
export function parseTags(text: string): Record<string, string> {
  const tags: Record<string, string> = {};
  for (const line of text.split('\n').map((part) => part.trim())) {
    if (line === '') continue;
    const at = line.includes('=') ? line.indexOf('=') : line.length;
    if (at < 1) throw new Error(words.details.badTag(line));
    tags[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return tags;
}

/** What to send so that `before` becomes `after`: null removes a tag. */
export function tagChange(
  before: Record<string, string>,
  after: Record<string, string>,
): Record<string, string | null> {
  const change: Record<string, string | null> = {};
  for (const key of Object.keys(before)) if (!(key in after)) change[key] = null;
  for (const [key, value] of Object.entries(after)) if (before[key] !== value) change[key] = value;
  return change;
}

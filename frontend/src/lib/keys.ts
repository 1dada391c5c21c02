/** Keys for what is done often. Those of one letter work where nothing is being written. */
export const KEYS = {
  palette: 'mod+k',
  stop: 'mod+.',
  help: '?',
  create: 'n',
  search: '/',
  box: 'i',
  next: 'j',
  previous: 'k',
  checkpoint: 'c',
  everything: 'e',
  panel: ']',
  settings: ',',
} as const;

export type Key = keyof typeof KEYS;

const isMac = (): boolean => /Mac/.test(navigator.platform);

/** Which of them was pressed. */
export function keyOf(event: KeyboardEvent): Key | undefined {
  if (event.altKey) return undefined;
  const mod = event.ctrlKey || event.metaKey;
  const pressed = (mod ? 'mod+' : '') + event.key.toLowerCase();
  if (event.shiftKey && /^(mod\+)?[a-z]$/.test(pressed)) return undefined;
  return (Object.keys(KEYS) as Key[]).find((key) => KEYS[key] === pressed);
}

/** A key as it is written on this computer's keyboard. */
export function written(key: Key): string {
  const [mod, letter] = KEYS[key].startsWith('mod+')
    ? [isMac() ? '⌘' : 'Ctrl+', KEYS[key].slice(4)]
    : ['', KEYS[key]];
  return mod + letter.toUpperCase();
}

/** A place in the documents that come with the window: one of their headings, or a whole one. */
export interface Place {
  readonly page: PageName;
  /** A heading as links name it; none is the beginning. */
  readonly section?: string;
}

/** The documents in docs/ that the window shows, in this order. */
export const PAGE_NAMES = [
  'guide',
  'troubleshooting',
  'mcp',
  'security',
  'install',
  'hosted',
  'status',
  'glossary',
] as const;

export type PageName = (typeof PAGE_NAMES)[number];

/** What leads to a place from anywhere: a hash in the page's address. */
export const addressOf = ({ page, section }: Place): string =>
  section === undefined ? `#/help/${page}` : `#/help/${page}/${section}`;

/** The place that a hash leads to, or null. */
export function placeAt(hash: string): Place | null {
  const [, name, section] = /^#\/help\/([a-z]+)(?:\/([\w-]+))?$/.exec(hash) ?? [];
  const page = PAGE_NAMES.find((one) => one === name);
  if (!page) return null;
  return section === undefined ? { page } : { page, section };
}

/** Where the documents say more, for those codes of the daemon's errors that they explain. */
const BY_CODE: Readonly<Record<string, Place>> = {
  DiskFull: { page: 'troubleshooting', section: 'disk' },
  EngineUnavailable: { page: 'troubleshooting', section: 'machines-do-not-start' },
  CheckpointUnusable: { page: 'troubleshooting', section: 'a-saved-state-cannot-be-used' },
  UnknownMaker: { page: 'guide', section: 'a-whole-machine-as-one-file' },
  Unreachable: { page: 'troubleshooting', section: 'the-window-does-not-open' },
};

/** The places that parts of the window lead to. */
export const PLACES = {
  start: { page: 'guide' },
  machines: { page: 'guide', section: 'machines' },
  troubles: { page: 'troubleshooting' },
  engines: { page: 'troubleshooting', section: 'machines-do-not-start' },
  apps: { page: 'mcp' },
  backups: { page: 'guide', section: 'backups' },
  bin: { page: 'guide', section: 'delete-and-the-bin' },
  checkpoints: { page: 'guide', section: 'going-back' },
  computers: { page: 'guide', section: 'use-a-bigger-computer' },
  files: { page: 'guide', section: 'files' },
  network: { page: 'guide', section: 'network' },
  plots: { page: 'guide', section: 'plots-and-tables' },
  hosted: { page: 'hosted' },
  share: { page: 'guide', section: 'share-a-folder' },
  secrets: { page: 'guide', section: 'keys-of-services' },
} as const satisfies Record<string, Place>;

/** Where to read more about an error with this code, if anywhere. */
export const placeOf = (code: string | undefined): Place | undefined =>
  code === undefined ? undefined : BY_CODE[code];

import type { Contact } from './api/types';

/** The ports of the web. Any other is worth showing. */
const USUAL: readonly number[] = [80, 443];

/** Where a connection leads, with its port only where that is not one of the web. */
export const hostOf = ({ host, port }: Pick<Contact, 'host' | 'port'>): string =>
  USUAL.includes(port) ? host : `${host}:${port}`;

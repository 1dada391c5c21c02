/** What the names of engines begin with that are other computers, reached by ssh. */
const OVER_SSH = 'ssh:';

/** Whether machines of this engine run on another computer. */
export const isElsewhere = (engine: string): boolean => engine.startsWith(OVER_SSH);

/** The address of that computer, as ssh takes it. */
export const hostOf = (engine: string): string => engine.slice(OVER_SSH.length);

/** The engine that the computer at an address is. */
export const engineAt = (address: string): string => OVER_SSH + address;

import type { Machine, Status } from '$lib/api/types';
import { HOSTED } from '$lib/hosted';

/** What the names of engines begin with that are other computers, reached by ssh. */
const OVER_SSH = 'ssh:';

/** What the names of engines begin with that are clusters. */
const IN_CLUSTER = 'kubernetes:';

/** The same of clusters that keep machines. */
const KEPT_IN_CLUSTER = 'cluster:';

/** Whether machines of this engine run on another computer. */
export const isElsewhere = (engine: string): boolean =>
  [OVER_SSH, IN_CLUSTER, KEPT_IN_CLUSTER].some((kind) => engine.startsWith(kind));

/** The address of that computer, as ssh takes it, or the name of the cluster. */
export const hostOf = (engine: string): string => engine.slice(engine.indexOf(':') + 1);

/** The engine that the computer at an address is. */
export const engineAt = (address: string): string => OVER_SSH + address;

/** The engines that a machine can move to: those that work and that it is not at. */
export const placesFor = (machine: Machine, engines: Status['engines'] = []): string[] =>
  engines
    .filter(({ problems }) => !problems || problems.length === 0)
    .map(({ name }) => name)
    .filter((name) => name !== HOSTED && name !== machine.engine);

import { createContext } from 'svelte';
import type { Place } from './places';

/** How a component anywhere in the page shows a place in the documents. The page sets it. */
export const [getHelp, setHelp] = createContext<(place: Place) => void>();

// Templates and hooks for all other modules. `htm/preact` imports a bare `preact`, which needs an import map, so the
// binding is made here.
import { h, Fragment, render, createContext, createPortal } from '../vendor/preact.js';
import htm from '../vendor/htm.js';

/** Makes vnodes of a template. */
export const html = htm.bind(h);
export { h, Fragment, render, createContext, createPortal };
export {
  useCallback, useContext, useEffect, useErrorBoundary, useId, useImperativeHandle, useLayoutEffect, useMemo, useReducer, useRef, useState,
} from '../vendor/preact-hooks.js';

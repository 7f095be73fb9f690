// Loading of parts that few pages need.
const loading = new Map();

/**
 * Loads a classic script of the vendored modules once, and returns the global that it defines.
 * @param {string} file
 * @param {string} global
 * @returns {Promise<any>}
 */
export function loadScript(file, global) {
  if (!loading.has(file)) {
    loading.set(file, new Promise((resolve, reject) => {
      const script = document.createElement('script');
      script.src = new URL(`../vendor/${file}`, import.meta.url).href;
      script.onload = () => resolve(globalThis[global]);
      script.onerror = () => { loading.delete(file); script.remove(); reject(new Error(file)); };
      document.head.append(script);
    }));
  }
  return loading.get(file);
}

/**
 * Loads a style sheet of the vendored modules once.
 * @param {string} file
 */
export function loadStyle(file) {
  const href = new URL(`../vendor/${file}`, import.meta.url).href;
  if ([...document.styleSheets].some((sheet) => sheet.href === href)) return;
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = href;
  document.head.append(link);
}

// Files of drafts, in the browser's database: they are too large for the storage of texts.
const STORE = 'draft-files';

let opened = null;

function database() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open('bub', 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}

async function run(mode, action) {
  try {
    const store = (await database()).transaction(STORE, mode).objectStore(STORE);
    const request = action(store);
    return await new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  } catch {
    // A private window has no database, and a disk may be full: the page works without.
    return undefined;
  }
}

/** The files of a session's draft. */
export const draftFiles = {
  read: async (session) => (await run('readonly', (store) => store.get(session))) ?? [],
  write: (session, list) => run('readwrite', (store) => (list.length ? store.put(list, session) : store.delete(session))),
};

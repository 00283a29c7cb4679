export { DiskFiles, type DiskFilesSettings } from './store.ts'
export type { FileFacts, FileLimits, FilePage, FileQuery, FileStore, FileUpload, KeyFiles, StoredFile } from './types.ts'

import type { Log } from '../../media/base/log.js'
import type { ObjectStoreSetting } from '../config/object-store.js'
import { FolderStore } from './folder-store.js'
import type { ObjectStore } from './object-store.js'

/** Opens the configured store. The client of S3 is loaded only when it is used. Nothing is connected yet. */
export async function openObjectStore(setting: ObjectStoreSetting, log: Log): Promise<ObjectStore> {
  if (setting.kind === 'folder') return new FolderStore(setting.path)
  const { S3Store } = await import('./s3-store.js')
  return new S3Store(setting, log)
}

import { join, resolve } from 'node:path'
import { backUp, restore } from '../backup/backup.js'
import { recordingsFolder } from '../calls/lifecycle/settle.js'
import type { ObjectStoreSetting } from '../config/object-store.js'
import type { Settings } from '../config/settings.js'
import { parseOptions, UsageError } from './options.js'

/**
 * Runs `parley backup --to FILE` or `parley restore --from FILE [--revoke-sessions] [--revoke-keys]`. Returns the exit
 * status.
 */
export async function backupCommand(
  command: 'backup' | 'restore',
  args: readonly string[],
  settings: () => Settings,
): Promise<number> {
  const option = command === 'backup' ? 'to' : 'from'
  const { values } =
    command === 'backup'
      ? parseOptions(args, { to: { type: 'string' } })
      : parseOptions(args, {
          from: { type: 'string' },
          'revoke-sessions': { type: 'boolean' },
          'revoke-keys': { type: 'boolean' },
        })
  const given: Readonly<Record<string, unknown>> = values
  const name = given[option]
  if (typeof name !== 'string' || name === '') throw new UsageError(`--${option} must name a file`)
  const file = resolve(name)
  const { databaseUrl, dataFolder, objectStore, rootKey } = settings()
  const key = rootKey === null ? join(dataFolder, 'root.key') : 'the value of PARLEY_ROOT_KEY'
  const alsoNeeded = [
    `${key}, without which what is encrypted in it stays unreadable`,
    `${storeName(objectStore)}, the recordings and documents`,
    `${recordingsFolder(dataFolder)}, recordings that are not stored yet`,
  ]
  const list = alsoNeeded.map((line) => `  ${line}\n`).join('')
  if (command === 'backup') {
    const bytes = await backUp(databaseUrl, file)
    process.stdout.write(`${file}: ${bytes} bytes.\nIt contains the database only. Also back up:\n${list}`)
    return 0
  }
  const revocation = {
    sessions: given['revoke-sessions'] === true,
    keys: given['revoke-keys'] === true,
  }
  await restore(databaseUrl, file, revocation, Date.now())
  process.stdout.write(`The database is restored. It also needs these of the same time:\n${list}`)
  if (!revocation.sessions || !revocation.keys) {
    process.stdout.write(
      'Sessions and API keys that ended after the backup are valid again, except those that --revoke-sessions and --revoke-keys end.\n',
    )
  }
  return 0
}

function storeName(setting: ObjectStoreSetting): string {
  return setting.kind === 'folder' ? setting.path : `the bucket ${setting.bucket}`
}

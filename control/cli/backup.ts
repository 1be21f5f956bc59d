import { join, resolve } from 'node:path'
import { backUp, restore } from '../backup/backup.js'
import { recordingsFolder } from '../calls/lifecycle/settle.js'
import type { Settings } from '../config/settings.js'
import { parseOptions, UsageError } from './options.js'

/** Runs `parley backup --to FILE` or `parley restore --from FILE`. Returns the exit status. */
export async function backupCommand(
  command: 'backup' | 'restore',
  args: readonly string[],
  settings: () => Settings,
): Promise<number> {
  const option = command === 'backup' ? 'to' : 'from'
  const { values } = parseOptions(args, { [option]: { type: 'string' } })
  const name = values[option]
  if (typeof name !== 'string' || name === '') throw new UsageError(`--${option} must name a file`)
  const file = resolve(name)
  const { databaseUrl, dataFolder, rootKey } = settings()
  const key = rootKey === null ? join(dataFolder, 'root.key') : 'the value of PARLEY_ROOT_KEY'
  if (command === 'backup') {
    const bytes = await backUp(databaseUrl, file)
    process.stdout.write(
      `${file}: ${bytes} bytes.\n` +
        'It contains the database only. Also back up:\n' +
        `  ${key}, without which what is encrypted in it stays unreadable\n` +
        `  ${recordingsFolder(dataFolder)}, the recordings\n`,
    )
    return 0
  }
  await restore(databaseUrl, file)
  process.stdout.write(
    'The database is restored. It also needs these files of the same time:\n' +
      `  ${key}, without which what is encrypted in it stays unreadable\n` +
      `  ${recordingsFolder(dataFolder)}, the recordings\n`,
  )
  return 0
}

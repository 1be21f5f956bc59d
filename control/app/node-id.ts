import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'

/** Returns the id of this installation among those that share a database. The data folder keeps it. */
export async function readNodeId(dataFolder: string): Promise<string> {
  const path = join(dataFolder, 'node.id')
  const created = `${hostname()}-${randomBytes(6).toString('hex')}`
  try {
    await writeFile(path, created, { flag: 'wx', mode: 0o600 })
    return created
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    return (await readFile(path, 'utf8')).trim()
  }
}

import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

const HOSTS_FILE = '/etc/hosts'

/** Returns the addresses of a name in the hosts file of the machine. */
export async function hostsFileAddresses(name: string): Promise<readonly string[]> {
  // A machine without the file has no names in it.
  const text = await readFile(HOSTS_FILE, 'utf8').catch(() => '')
  const wanted = name.toLowerCase()
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = (line.split('#')[0] ?? '').trim().split(/\s+/)
    return isIP(address) !== 0 && names.some((one) => one.toLowerCase() === wanted) ? [address] : []
  })
}

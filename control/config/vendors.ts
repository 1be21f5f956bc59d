import { type ProviderSettings, VENDOR_MODULES, type VendorSettings } from '../../media/vendors/registry.js'
import type { SettingsReader, Variable, VendorModule } from '../../media/vendors/vendor-module.js'
import {
  choice,
  httpUrl,
  integer,
  invalid,
  jsonFile,
  jsonObject,
  modelNames,
  type Parsed,
  socketUrl,
  text,
  voiceNames,
} from './parsers.js'

/** The variables of all vendors. */
export const VENDOR_VARIABLES: readonly Variable[] = VENDOR_MODULES.flatMap(
  ({ variables }: VendorModule) => variables,
)

type Given = (name: string) => string | null
type Read = <T>(name: string, fallback: string, parse: (value: string) => Parsed<T>) => T | null

/**
 * Reads the settings of each vendor; null for a vendor that is not enabled, whose variables are rejected
 * then.
 */
export function readVendors(
  given: Given,
  read: Read,
  modules: readonly VendorModule[] = VENDOR_MODULES,
): VendorSettings & Pick<ProviderSettings, 'openai'> {
  const settings: Record<string, object | null> = {}
  for (const module of modules) {
    const { id, variables, requires } = module
    if (requires.length === 0 || module.readSettings === undefined) continue
    const enabled = requires.some((name) => given(name) !== null)
    settings[id] = enabled ? module.readSettings(settingsReader(variables, given, read)) : null
    const stray = enabled ? undefined : variables.find(({ name }) => given(name) !== null)
    if (stray !== undefined) {
      read(stray.name, '', () => invalid(`also set ${requires.join(' or ')}, or remove it`))
    }
  }
  return settings as VendorSettings
}

function settingsReader(variables: readonly Variable[], given: Given, read: Read): SettingsReader {
  const byDefault = (name: string) => variables.find((variable) => variable.name === name)?.default ?? ''
  // An invalid value has been reported and stops the start, so the placeholder is never used.
  return {
    given,
    text: (name) => read(name, byDefault(name), text) ?? '',
    httpUrl: (name, otherwise = byDefault(name)) => read(name, otherwise, httpUrl) ?? '',
    socketUrl: (name) => read(name, byDefault(name), socketUrl) ?? '',
    choice: (name, ...values) => {
      const [first] = values
      if (first === undefined) throw new TypeError('a choice needs values')
      return read(name, byDefault(name), choice(...values)) ?? first
    },
    jsonFile: (name, parse, wanted) => read(name, byDefault(name), jsonFile(parse, wanted)),
    jsonObject: (name) => read(name, byDefault(name), jsonObject) ?? {},
    integer: (name, min, max) => read(name, byDefault(name), integer(min, max)) ?? min,
    modelNames: (name, otherwise = byDefault(name), unserved) =>
      read(name, otherwise, modelNames(unserved)) ?? [],
    voices: (name) => (given(name) === null ? [] : (read(name, '', voiceNames) ?? [])),
  }
}

import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { IntlProvider } from 'use-intl'
import { en, type Messages } from './messages/en.js'

export type Language = 'en' | 'hi'

declare module 'use-intl' {
  interface AppConfig {
    Locale: (typeof LOCALES)[Language]
    Messages: Messages
  }
}

const STORED = 'parley-language'
/** Law and business in India count in this time zone. */
const TIME_ZONE = 'Asia/Kolkata'
const LOCALES = { en: 'en-IN', hi: 'hi-IN' } as const

const LanguageContext = createContext<{
  readonly language: Language
  readonly choose: (language: Language) => void
}>({ language: 'en', choose: () => {} })

export function useLanguage() {
  return useContext(LanguageContext)
}

/** Returns the locale for numbers and dates. */
export function useLocale(): string {
  return LOCALES[useLanguage().language]
}

/** Longest wait for letters: a page that shows other letters first is better than none. */
const LETTERS_MS = 2_000

/** Loads the texts and the letters of Hindi. Text that is drawn before its letters are there may keep empty boxes. */
async function loadHindi(): Promise<Messages> {
  const letters = ['400', '700'].map((weight) =>
    document.fonts.load(`${weight} 1em "Noto Sans Devanagari"`, 'अ'),
  )
  const late = new Promise((resolve) => setTimeout(resolve, LETTERS_MS))
  const [{ hi }] = await Promise.all([
    import('./messages/hi.js'),
    Promise.race([Promise.allSettled(letters), late]),
  ])
  return hi
}

function initial(): Language {
  const stored = localStorage.getItem(STORED)
  if (stored === 'en' || stored === 'hi') return stored
  return navigator.language.startsWith('hi') ? 'hi' : 'en'
}

/** Provides texts, numbers and times. The texts of other languages than English load when they are chosen. */
export function LanguageProvider({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useState(initial)
  const [messages, setMessages] = useState<{ readonly language: Language; readonly texts: Messages }>({
    language: 'en',
    texts: en,
  })
  useEffect(() => {
    document.documentElement.lang = language
    let current = true
    const load = language === 'en' ? Promise.resolve(en) : loadHindi()
    void load.then((texts) => {
      if (current) setMessages({ language, texts })
    })
    return () => {
      current = false
    }
  }, [language])
  const choose = (chosen: Language): void => {
    localStorage.setItem(STORED, chosen)
    setLanguage(chosen)
  }
  // Texts of the chosen language first: a page that changes its language while it is read is worse than a moment without text.
  if (messages.language !== language) return null
  return (
    <LanguageContext value={{ language, choose }}>
      <IntlProvider locale={LOCALES[language]} messages={messages.texts} timeZone={TIME_ZONE}>
        {children}
      </IntlProvider>
    </LanguageContext>
  )
}

/** Returns a function that names a language tag: `en-IN` is English (India). */
export function useLanguageName(): (tag: string) => string {
  const names = new Intl.DisplayNames(useLocale(), { type: 'language', languageDisplay: 'standard' })
  return (tag) => names.of(tag) ?? tag
}

type Formats = ReturnType<typeof formatsOf>

/** Makes the formatters of a locale. A browser takes long to make one, and a long list needs each for every row. */
function formatsOf(locale: string) {
  const dates = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { ...options, timeZone: TIME_ZONE })
  const sizes = (unit: 'kilobyte' | 'megabyte') =>
    new Intl.NumberFormat(locale, { style: 'unit', unit, maximumFractionDigits: 1 })
  const rupees = new Intl.NumberFormat(locale, { style: 'currency', currency: 'INR' })
  const counts = new Intl.NumberFormat(locale)
  const kilobytes = sizes('kilobyte')
  const megabytes = sizes('megabyte')
  const seconds = dates({ dateStyle: 'medium', timeStyle: 'medium' })
  const minutes = dates({ dateStyle: 'medium', timeStyle: 'short' })
  const days = dates({ dateStyle: 'medium' })
  const short = { day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit' } as const
  const ofThisYear = dates(short)
  const ofOtherYears = dates({ ...short, year: 'numeric' })
  const years = new Intl.DateTimeFormat('en', { year: 'numeric', timeZone: TIME_ZONE })
  return {
    /** `paise` as rupees with lakh and crore groups: `₹1,25,000.00`. */
    money: (paise: number): string => rupees.format(paise / 100),
    time: (instant: string | null): string => (instant === null ? '–' : seconds.format(new Date(instant))),
    /** As short as a list needs it: no seconds, and the year only if it is another one. */
    moment: (instant: string): string => {
      const at = new Date(instant)
      const isThisYear = years.format(at) === years.format(new Date())
      return (isThisYear ? ofThisYear : ofOtherYears).format(at)
    },
    /** As `time`, with the zone: for what the law counts in Indian time. */
    ist: (instant: string): string => `${minutes.format(new Date(instant))} IST`,
    day: (instant: string): string => days.format(new Date(instant)),
    /** With lakh and crore groups: `1,25,000`. */
    count: (value: number): string => counts.format(value),
    size: (bytes: number): string =>
      bytes < 1e6 ? kilobytes.format(bytes / 1e3) : megabytes.format(bytes / 1e6),
    /** Seconds as `m:ss`. */
    clock: (seconds: number): string =>
      `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`,
  }
}

const formats = new Map<string, Formats>()

/** Returns formatters for rupees and Indian time. They are the same ones in every part of a page. */
export function useFormat(): Formats {
  const locale = useLocale()
  let found = formats.get(locale)
  if (found === undefined) {
    found = formatsOf(locale)
    formats.set(locale, found)
  }
  return found
}

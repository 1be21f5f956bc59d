import type { Refusal } from '../api/problem.js'
import { escapeHtml } from '../base/html.js'
import { hindiLetters, PAGE_STYLE, preloadLetters } from '../base/page-style.js'
import type { FieldName, PageLanguage, PageTexts } from './page-texts.js'

/** Attributes of the fields. */
const FIELDS: Readonly<Record<FieldName, string>> = {
  token: 'type="text" maxlength="200" autocomplete="off" required',
  email: 'type="email" maxlength="254" autocomplete="email" required',
  name: 'type="text" maxlength="80" autocomplete="name" required',
  password: 'type="password" minlength="10" maxlength="200" autocomplete="new-password" required',
}

export interface FormPage {
  readonly texts: PageTexts
  readonly title: string
  readonly text: string
  readonly fields: readonly FieldName[]
  readonly button: string
  /** Relative URL, so that the page also works below a path prefix of a proxy. */
  readonly action: string
  /** Values that the fields start with. A password is never repeated. */
  readonly values: ReadonlyMap<string, string>
  /** Reason why the form is shown again, or null. */
  readonly refusal: Refusal | null
}

/** Returns a page with a form. A token that is known is a hidden field. */
export function formPage(page: FormPage): string {
  const { texts, title, text, fields, button, action, values, refusal } = page
  const problem =
    refusal === null
      ? ''
      : `<p role="alert">${[texts.refused(refusal), ...issuesOf(refusal, texts)].map(escapeHtml).join(' ')}</p>\n`
  return htmlPage(
    texts.language,
    title,
    `<p>${escapeHtml(text)}</p>
${problem}<form method="post" action="${escapeHtml(action)}">
${fields.map((name) => fieldHtml(name, texts.fields[name], values.get(name) ?? '')).join('\n')}
<button type="submit">${escapeHtml(button)}</button>
</form>
`,
  )
}

/** Returns a page with a text and, unless null, a link to another page. */
export function messagePage(
  language: PageLanguage,
  title: string,
  text: string,
  link: { readonly path: string; readonly text: string } | null,
): string {
  const line = link === null ? '' : `<p><a href="${escapeHtml(link.path)}">${escapeHtml(link.text)}</a></p>\n`
  return htmlPage(language, title, `<p role="status">${escapeHtml(text)}</p>\n${line}`)
}

function fieldHtml(name: FieldName, label: string, value: string): string {
  if (name === 'token' && value !== '')
    return `<input type="hidden" name="token" value="${escapeHtml(value)}">`
  const start = name === 'password' || value === '' ? '' : ` value="${escapeHtml(value)}"`
  return `<label>${escapeHtml(label)}<input name="${name}" ${FIELDS[name]}${start}></label>`
}

function issuesOf(refusal: Refusal, texts: PageTexts): string[] {
  const issues = refusal.details?.issues
  if (!Array.isArray(issues)) return []
  return issues.map(({ path, reason }: { path: string; reason: string }) =>
    texts.wrong(texts.language === 'en' ? path : (texts.fields[path as FieldName] ?? path), reason),
  )
}

/** Returns a page. `root` is the relative URL of the service's root, with a slash at its end. */
export function htmlPage(language: PageLanguage, title: string, content: string, root = ''): string {
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)} - Parley</title>
<link rel="icon" href="${root}docs/assets/favicon-32x32.png">
${language === 'hi' ? preloadLetters(root) : ''}<link rel="stylesheet" href="${root}account.css">
<main>
<p class="brand">Parley</p>
<h1>${escapeHtml(title)}</h1>
${content}</main>
</html>
`
}

export const ACCOUNT_STYLE = `${hindiLetters('')}${PAGE_STYLE}label, input, button { display: block; width: 100% }
label { margin: 1rem 0; font-weight: 600; font-size: .9rem }
input, button { margin-top: .25rem; padding: .5rem .75rem; min-height: 2.5rem; font: inherit; font-weight: 400; border-radius: .25rem }
input { color: inherit; background: var(--surface); border: 1px solid var(--edge) }
button { margin-top: 1.5rem; font-weight: 600; color: #fff; background: var(--button); border: 0; cursor: pointer }
[role=alert] { padding: .5rem .75rem; border-left: 4px solid var(--wrong); background: var(--wrong-tint) }
button.second { color: inherit; background: var(--surface); border: 1px solid var(--edge) }
.note { padding: .5rem .75rem; border-left: 4px solid var(--tone); background: var(--tint) }
dl { display: grid; grid-template-columns: auto 1fr; gap: .25rem 1rem }
dd { margin: 0; text-align: right }
`

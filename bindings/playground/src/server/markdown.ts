// Markdown of the language server. It contains text of the document, which may come from anywhere.

import DOMPurify from "dompurify";
import { Marked } from "marked";

const marked = new Marked();

/** HTML without scripts. */
export function sanitized(html: string): string {
  return DOMPurify.sanitize(html);
}

/** Markdown as HTML without scripts. */
export function markdownToHtml(text: string): string {
  return sanitized(marked.parse(text, { async: false }));
}

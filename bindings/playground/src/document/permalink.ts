// Links that contain the whole document: its text, compressed, in the part of the address that browsers do not send.

/** What a link restores. */
export interface Shared {
  text: string | null;
  panel: string | null;
}

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array<ArrayBuffer>> {
  const result = new Response(new Blob([bytes]).stream().pipeThrough(stream));
  return new Uint8Array(await result.arrayBuffer());
}

/** Base64 with the alphabet for addresses, without padding. */
function toBase64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += 0x8000) parts.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
  return btoa(parts.join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
}

/** The fragment of a link. */
export async function fragmentOf(text: string, panel: string): Promise<string> {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  return `#panel=${panel}&text=${toBase64(bytes)}`;
}

/** What a fragment contains. Throws if its text is damaged. */
export async function readFragment(fragment: string): Promise<Shared> {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const encoded = fields.get("text");
  const bytes = encoded === null ? null : await through(fromBase64(encoded), new DecompressionStream("deflate-raw"));
  return { text: bytes && new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), panel: fields.get("panel") };
}

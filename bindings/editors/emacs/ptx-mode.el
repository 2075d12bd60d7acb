;;; ptx-mode.el --- Major mode for NVIDIA PTX  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; (add-to-list 'load-path "PATH-OF-THE-REPOSITORY/editors/emacs")
;; (require 'ptx-mode)
;; (add-hook 'ptx-mode-hook #'eglot-ensure)   ; starts `ptxkit lsp'

;;; Code:

(defvar ptx-mode-syntax-table
  (let ((table (make-syntax-table)))
    (dolist (char '(?_ ?$ ?%))
      (modify-syntax-entry char "_" table))
    (modify-syntax-entry ?/ ". 124b" table)
    (modify-syntax-entry ?* ". 23" table)
    (modify-syntax-entry ?\n "> b" table)
    (modify-syntax-entry ?\\ "." table)
    table)
  "Syntax of PTX.")

(defconst ptx-mode-font-lock
  (let ((name "[A-Za-z_$%][A-Za-z0-9_$]*"))
    `((,(concat "\\.\\(?:entry\\|func\\)\\(?:[ \t]*([^)]*)\\)?[ \t]+\\(" name "\\)") 1 font-lock-function-name-face)
      (,(concat "^[ \t]*\\(" name "\\)[ \t]*:") 1 font-lock-constant-face)
      ;; The opcode, with its modifiers, after a guard.
      (,(concat "\\(?:^\\|[;{}]\\)[ \t]*\\(?:@!?" name "[ \t]+\\)?\\([a-z][a-z0-9_]*\\)\\(?:[.;]\\|[ \t]\\)")
       1 font-lock-keyword-face)
      ("\\.[a-z]*[bsuf][0-9]+\\(?:x[0-9]+\\)?\\_>" . font-lock-type-face)
      ("\\.[A-Za-z0-9_$]+\\(?:::[A-Za-z0-9_]+\\)*" . font-lock-builtin-face)
      ("%[A-Za-z0-9_$]+" . font-lock-variable-name-face)))
  "What is highlighted without a language server.")

(defun ptx-mode-indent-line ()
  "Indent the line by the braces around it; labels stay at the margin."
  (interactive)
  (let* ((depth (save-excursion (back-to-indentation) (car (syntax-ppss))))
         (column (save-excursion
                   (back-to-indentation)
                   (cond ((looking-at "[A-Za-z_$%][A-Za-z0-9_$]*[ \t]*:") 0)
                         ((looking-at "[})]") (* tab-width (max 0 (1- depth))))
                         (t (* tab-width depth))))))
    (if (<= (current-column) (current-indentation))
        (indent-line-to column)
      (save-excursion (indent-line-to column)))))

;;;###autoload
(define-derived-mode ptx-mode prog-mode "PTX"
  "Major mode for NVIDIA PTX."
  (setq-local comment-start "// ")
  (setq-local comment-start-skip "\\(?://+\\|/\\*+\\)[ \t]*")
  (setq-local font-lock-defaults '(ptx-mode-font-lock))
  (setq-local indent-line-function #'ptx-mode-indent-line)
  (setq-local imenu-generic-expression
              '((nil "\\.\\(?:entry\\|func\\)\\(?:[ \t\n]*([^)]*)\\)?[ \t\n]+\\([A-Za-z_$%][A-Za-z0-9_$]*\\)" 1))))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.ptx\\'" . ptx-mode))

(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(ptx-mode . ("ptxkit" "lsp"))))

(provide 'ptx-mode)
;;; ptx-mode.el ends here
